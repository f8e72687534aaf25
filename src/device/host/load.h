// Reads a word in a host thread that a kernel, a lane or another process writes.
#pragma once

#include <atomic>

#include "device/word.h"

namespace sennit::device {

/// Returns the word. What its writer wrote before it is visible after this, if the writer released the word.
inline Word load_acquire(const Word* word) {
  return std::atomic_ref(*const_cast<Word*>(word)).load(std::memory_order_acquire);
}

}  // namespace sennit::device
