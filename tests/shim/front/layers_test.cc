#include "shim/front/layers.h"

#include <array>
#include <thread>

#include <gtest/gtest.h>

namespace {

/// Functions that are only told apart.
struct Place {
  int stub = 0, library = 0, drop_in = 0, observer = 0;
};

struct Layers {
  std::array<Place, 3> places;
  std::array<void*, 3> entries{}, behind{}, observers{};
  sennit_layers layers{3, entries.data(), behind.data(), observers.data(), false};

  Layers() {
    for (std::size_t i = 0; i < places.size(); ++i) entries[i] = &places[i].stub;
    // The library lacks the last one.
    for (std::size_t i = 0; i < 2; ++i) sennit_layers_lead(&layers, i, &places[i].library);
  }
};

TEST(Layers, EntryPointsKeepTheirStubsUntilTheLayersOpen) {
  Layers here;
  sennit_layers_observe(&here.layers, 0, &here.places[0].observer);
  EXPECT_EQ(here.entries[0], &here.places[0].stub);
  EXPECT_EQ(here.behind[0], &here.places[0].library);
  sennit_layers_open(&here.layers);
  EXPECT_EQ(here.entries[0], &here.places[0].observer);
  EXPECT_EQ(here.entries[1], &here.places[1].library);
  EXPECT_EQ(here.entries[2], &here.places[2].stub);
}

TEST(Layers, EachIsAttachedAndDetachedByItself) {
  Layers here;
  Place& one = here.places[1];
  sennit_layers_open(&here.layers);
  sennit_layers_lead(&here.layers, 1, &one.drop_in);
  EXPECT_EQ(here.entries[1], &one.drop_in);
  sennit_layers_observe(&here.layers, 1, &one.observer);
  EXPECT_EQ(here.entries[1], &one.observer);
  EXPECT_EQ(here.behind[1], &one.drop_in) << "where the observer goes on";
  sennit_layers_lead(&here.layers, 1, &one.library);
  EXPECT_EQ(here.entries[1], &one.observer) << "the drop-in has stepped aside";
  EXPECT_EQ(here.behind[1], &one.library);
  sennit_layers_observe(&here.layers, 1, nullptr);
  EXPECT_EQ(here.entries[1], &one.library);
}

TEST(Layers, AnObserverStandsBeforeWhatTheLibraryLacksOnceTheDropInDoes) {
  Layers here;
  Place& lacking = here.places[2];
  sennit_layers_open(&here.layers);
  sennit_layers_observe(&here.layers, 2, &lacking.observer);
  EXPECT_EQ(here.entries[2], &lacking.stub) << "it would go on nowhere";
  sennit_layers_lead(&here.layers, 2, &lacking.drop_in);
  EXPECT_EQ(here.entries[2], &lacking.observer);
  sennit_layers_observe(&here.layers, 3, &lacking.observer);  // of another build: there is no such entry
}

TEST(Layers, BothMayChangeAtOnce) {
  Layers here;
  Place& one = here.places[0];
  sennit_layers_open(&here.layers);
  constexpr int kTimes = 1000;
  {
    const std::jthread drop_in([&] {
      for (int i = 0; i < kTimes; ++i) sennit_layers_lead(&here.layers, 0, i % 2 == 0 ? &one.drop_in : &one.library);
    });
    for (int i = 0; i < kTimes; ++i) sennit_layers_observe(&here.layers, 0, i % 2 == 0 ? &one.observer : nullptr);
  }
  EXPECT_EQ(here.entries[0], &one.library);
}

}  // namespace
