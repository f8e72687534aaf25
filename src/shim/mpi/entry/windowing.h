// Wraps functions that make windows and end them, and those that begin and end epochs.
#pragma once

#include "shim/mpi/entry/wrappers.h"

namespace sennit::shim::mpi::wrappers {

template <class Abi>
using Win = typename Abi::Win;

/// MPI_Win_create, in both forms.
template <class Abi, class Unit, class Create>
int create_window(const Create& real, void* base, Aint size, Unit disp_unit, typename Abi::Info info,
                  typename Abi::Comm comm, Win<Abi>* win) {
  auto& process = Process<Abi>::instance();
  const auto hold_rts = process.drop_in->arrivals.hold_rts();
  if (const auto code = process.drop_in->arrivals.arrive("MPI_Win_create", to_handle(comm))) return *code;
  const auto named = [&](int code) { return name_made<Abi>(code, Shared::window, win, comm); };
  if (!process.windows->complete()) return named(real(base, size, disp_unit, info, comm, win));
  const Windows::Make make = [&](void* memory, std::int64_t bytes, Handle& made) {
    const int code = real(memory, bytes, disp_unit, info, comm, win);
    if (code == 0) made = to_handle(*win);
    return code;
  };
  return named(process.drop_in->rma.create_window(*process.windows, to_handle(comm), {base, size}, disp_unit, make));
}

template <class Abi>
int Win_create(void* base, Aint size, int disp_unit, typename Abi::Info info, typename Abi::Comm comm,
               Win<Abi>* win) {
  return create_window<Abi>(Real<Abi>::of(&Win_create<Abi>, Entry::Win_create), base, size, disp_unit, info, comm,
                            win);
}

template <class Abi>
int Win_create_c(void* base, Aint size, Aint disp_unit, typename Abi::Info info, typename Abi::Comm comm,
                 Win<Abi>* win) {
  return create_window<Abi>(Real<Abi>::of(&Win_create_c<Abi>, Entry::Win_create_c), base, size, disp_unit, info, comm,
                            win);
}

/// Stands in for a library that lacks the function with large counts.
template <class Abi>
int Win_create_narrowed(void* base, Aint size, Aint disp_unit, typename Abi::Info info, typename Abi::Comm comm,
                        Win<Abi>* win) {
  Narrow narrow;
  const int unit = narrow(disp_unit);
  if (!narrow.fits()) return mpi<Abi>().fail(to_handle(comm), kErrCount);
  return Current<Abi>::of(&Win_create<Abi>, Entry::Win_create)(base, size, unit, info, comm, win);
}

template <class Abi>
int Win_free(Win<Abi>* win) {
  const auto real = Real<Abi>::of(&Win_free<Abi>, Entry::Win_free);
  const auto hold_rts = drop_in<Abi>().arrivals.hold_rts();
  if (const auto code = drop_in<Abi>().arrivals.arrive("MPI_Win_free", Shared::window, to_handle(*win))) return *code;
  drop_in<Abi>().arrivals.forget(Shared::window, to_handle(*win));
  Windows* const windows = drop_in<Abi>().rma.windows();
  if (windows == nullptr) return real(win);
  const Handle window = to_handle(*win);
  Windows::Shared known = windows->begin_free(window);
  const int code = real(win);
  if (code == 0)
    windows->end_free(known);
  else
    windows->stay(window, std::move(known));
  return code;
}

template <class Abi>
int Win_attach(Win<Abi> win, void* base, Aint size) {
  auto& process = Process<Abi>::instance();
  if (size > 0 && is_device<Abi>(base) && process.windows->complete())
    return process.drop_in->rma.refuse_to_attach(*process.windows, to_handle(win));
  return Real<Abi>::of(&Win_attach<Abi>, Entry::Win_attach)(win, base, size);
}

template <class Abi>
int Win_get_attr(Win<Abi> win, int win_keyval, void* attribute_val, int* flag) {
  const int code = Real<Abi>::of(&Win_get_attr<Abi>, Entry::Win_get_attr)(win, win_keyval, attribute_val, flag);
  Windows* const windows = drop_in<Abi>().rma.windows();
  if (code != 0 || windows == nullptr) return code;
  if (win_keyval == Abi::kWinModel && *flag != 0 && windows->is_mirrored(to_handle(win))) {
    static int separate = Abi::kWinSeparate;
    *static_cast<void**>(attribute_val) = &separate;
  }
  if (win_keyval != Abi::kWinBase && win_keyval != Abi::kWinSize) return code;
  if (const auto* const memory = windows->memory_of(to_handle(win)))
    *static_cast<const void**>(attribute_val) = win_keyval == Abi::kWinBase ? memory->base : &memory->bytes;
  return code;
}

/// Makes a call that ends calls, to `rank` (which may be MPI_PROC_NULL) or kEveryRank: what this process copies is
/// over before it, and what it brought to host memory goes to GPUs after it.
template <class Abi, class Call>
int ends_calls(Win<Abi> win, int rank, const Call& real) {
  Windows* const windows = drop_in<Abi>().rma.windows();
  if (windows == nullptr) return real();
  const Handle window = to_handle(win);
  if (const int code = windows->finish(window); code != 0) return code;
  Windows::Brought brought = windows->take_pending(window, rank);
  if (const int code = real(); code != 0) {
    windows->keep_pending(window, std::move(brought));
    return code;
  }
  return windows->copy_out(window, brought);
}

template <class Abi>
int Win_fence(int assert, Win<Abi> win) {
  const auto hold_rts = drop_in<Abi>().arrivals.hold_rts();
  if (const auto met = drop_in<Abi>().arrivals.arrive("MPI_Win_fence", Shared::window, to_handle(win))) return *met;
  Windows* const windows = drop_in<Abi>().rma.windows();
  const int code = ends_calls<Abi>(win, Windows::kEveryRank, [&] {
    // Some fences need not wait for anybody, in MPI's eyes.
    if (windows != nullptr)
      if (const int met = windows->meet(to_handle(win)); met != 0) return met;
    return Real<Abi>::of(&Win_fence<Abi>, Entry::Win_fence)(assert, win);
  });
  return code == 0 && windows != nullptr ? windows->settle_all(to_handle(win)) : code;
}

template <class Abi>
int Win_post(typename Abi::Group group, int assert, Win<Abi> win) {
  Windows* const windows = drop_in<Abi>().rma.windows();
  if (windows != nullptr)
    if (const int settled = windows->settle(to_handle(win)); settled != 0) return settled;
  const int code = Real<Abi>::of(&Win_post<Abi>, Entry::Win_post)(group, assert, win);
  if (code != 0 || windows == nullptr || (assert& Abi::kModeNocheck) != 0) return code;
  return windows->post(to_handle(win), to_handle(group));
}

template <class Abi>
int Win_start(typename Abi::Group group, int assert, Win<Abi> win) {
  const int code = Real<Abi>::of(&Win_start<Abi>, Entry::Win_start)(group, assert, win);
  Windows* const windows = drop_in<Abi>().rma.windows();
  if (code != 0 || windows == nullptr || (assert& Abi::kModeNocheck) != 0) return code;
  return windows->await_posts(to_handle(win), to_handle(group));
}

template <class Abi>
int Win_complete(Win<Abi> win) {
  return ends_calls<Abi>(win, Windows::kEveryRank,
                         [&] { return Real<Abi>::of(&Win_complete<Abi>, Entry::Win_complete)(win); });
}

template <class Abi>
int Win_wait(Win<Abi> win) {
  const int code = Real<Abi>::of(&Win_wait<Abi>, Entry::Win_wait)(win);
  Windows* const windows = drop_in<Abi>().rma.windows();
  return code == 0 && windows != nullptr ? windows->settle(to_handle(win)) : code;
}

template <class Abi>
int Win_test(Win<Abi> win, int* flag) {
  const int code = Real<Abi>::of(&Win_test<Abi>, Entry::Win_test)(win, flag);
  Windows* const windows = drop_in<Abi>().rma.windows();
  return code == 0 && *flag != 0 && windows != nullptr ? windows->settle(to_handle(win)) : code;
}

template <class Abi>
int Win_lock(int lock_type, int rank, int assert, Win<Abi> win) {
  const int code = Real<Abi>::of(&Win_lock<Abi>, Entry::Win_lock)(lock_type, rank, assert, win);
  Windows* const windows = drop_in<Abi>().rma.windows();
  if (code == 0 && windows != nullptr && rank >= 0) windows->hold(to_handle(win), rank, true);
  return code;
}

template <class Abi>
int Win_lock_all(int assert, Win<Abi> win) {
  const int code = Real<Abi>::of(&Win_lock_all<Abi>, Entry::Win_lock_all)(assert, win);
  Windows* const windows = drop_in<Abi>().rma.windows();
  if (code == 0 && windows != nullptr) windows->hold(to_handle(win), -1, true);
  return code;
}

template <class Abi>
int Win_unlock(int rank, Win<Abi> win) {
  return ends_calls<Abi>(win, rank, [&] {
    const int code = Real<Abi>::of(&Win_unlock<Abi>, Entry::Win_unlock)(rank, win);
    Windows* const windows = drop_in<Abi>().rma.windows();
    if (code == 0 && windows != nullptr && rank >= 0) windows->hold(to_handle(win), rank, false);
    return code;
  });
}

template <class Abi>
int Win_unlock_all(Win<Abi> win) {
  return ends_calls<Abi>(win, Windows::kEveryRank, [&] {
    const int code = Real<Abi>::of(&Win_unlock_all<Abi>, Entry::Win_unlock_all)(win);
    Windows* const windows = drop_in<Abi>().rma.windows();
    if (code == 0 && windows != nullptr) windows->hold(to_handle(win), -1, false);
    return code;
  });
}

template <class Abi>
int Win_flush(int rank, Win<Abi> win) {
  return ends_calls<Abi>(win, rank, [&] { return Real<Abi>::of(&Win_flush<Abi>, Entry::Win_flush)(rank, win); });
}

template <class Abi>
int Win_flush_all(Win<Abi> win) {
  return ends_calls<Abi>(win, Windows::kEveryRank,
                         [&] { return Real<Abi>::of(&Win_flush_all<Abi>, Entry::Win_flush_all)(win); });
}

template <class Abi>
int Win_flush_local(int rank, Win<Abi> win) {
  return ends_calls<Abi>(win, rank,
                         [&] { return Real<Abi>::of(&Win_flush_local<Abi>, Entry::Win_flush_local)(rank, win); });
}

template <class Abi>
int Win_flush_local_all(Win<Abi> win) {
  return ends_calls<Abi>(win, Windows::kEveryRank,
                         [&] { return Real<Abi>::of(&Win_flush_local_all<Abi>, Entry::Win_flush_local_all)(win); });
}

}  // namespace sennit::shim::mpi::wrappers
