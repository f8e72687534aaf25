// Describes the three ABIs of MPI's C binding. What a program is compiled with is frozen in each: Open MPI's since
// 1.7 (libmpi.so.40 since 3.0), MPICH's since 3.1 (libmpi.so.12, with Intel's and Cray's), and the standard's own
// since MPI 5.0, chapter 20. tests/interop/test_mpi_table.py holds this file against every mpi.h it finds.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "shim/mpi/abi/handle.h"

namespace sennit::shim::mpi {

enum class Flavour { standard, mpich, openmpi };

/// Stands for a kind of handle that is a pointer to something opaque.
template <int Kind>
struct Opaque;

/// Classes of errors that every ABI has the same number for.
inline constexpr int kErrCount = 2, kErrType = 3, kErrComm = 5;

/// MPI 5.0, 20: handles are pointers of small numbers.
struct Standard {
  static constexpr Flavour kFlavour = Flavour::standard;
  using Comm = Opaque<10>*;
  using Datatype = Opaque<11>*;
  using Op = Opaque<12>*;
  using Request = Opaque<13>*;
  using Group = Opaque<17>*;
  using Message = Opaque<14>*;
  using Info = Opaque<15>*;
  using File = Opaque<16>*;
  using Win = Opaque<18>*;
  using Errhandler = Opaque<19>*;
  using Session = Opaque<20>*;
  struct Status {
    int source;
    int tag;
    int error;
    int internal[5];
  };
  static constexpr std::intptr_t kInPlace = 1, kStatusIgnore = 0;
  static constexpr int kUndefined = -32766, kRoot = -4, kAnySource = -1, kAnyTag = -2, kProcNull = -3;
  static constexpr int kCart = 211, kGraph = 212, kDistGraph = 213;
  static constexpr int kCombinerNamed = 101, kCombinerDup = 102, kCombinerContiguous = 103;
  static constexpr int kCombinerVector = 104, kCombinerHvector = 105, kCombinerSubarray = 111, kCombinerResized = 116;
  static constexpr int kCombinerIndexed = 106, kCombinerHindexed = 107, kCombinerIndexedBlock = 108;
  static constexpr int kCombinerHindexedBlock = 109, kCombinerStruct = 110;
  static constexpr std::array kCombinersUnnamed = {113, 114, 115, 117};
  static constexpr int kOrderC = 0xC;
  static constexpr int kErrTruncate = 15, kErrOther = 16, kErrInStatus = 19, kErrPending = 18, kErrNoMem = 39;
  static constexpr int kErrUnsupportedOperation = 55;
  static constexpr int kErrRmaRange = 48, kErrRmaAttach = 46;
  static constexpr int kTagUb = 501;
  static constexpr int kWinBase = 601, kWinSize = 603, kWinModel = 605, kWinSeparate = 322, kModeNocheck = 1024;
  static constexpr int kThreadMultiple = 4096;
};

/// MPICH's: handles are ints.
struct Mpich {
  static constexpr Flavour kFlavour = Flavour::mpich;
  using Comm = int;
  using Datatype = int;
  using Op = int;
  using Request = int;
  using Group = int;
  using Message = int;
  using Info = int;
  using File = Opaque<26>*;
  using Win = int;
  using Errhandler = int;
  using Session = int;
  struct Status {
    int count_low;
    int count_high_and_cancelled;
    int source;
    int tag;
    int error;
  };
  static constexpr std::intptr_t kInPlace = -1, kStatusIgnore = 1;
  static constexpr int kUndefined = -32766, kRoot = -3, kAnySource = -2, kAnyTag = -1, kProcNull = -1;
  static constexpr int kCart = 2, kGraph = 1, kDistGraph = 3;
  static constexpr int kCombinerNamed = 1, kCombinerDup = 2, kCombinerContiguous = 3;
  static constexpr int kCombinerVector = 4, kCombinerHvector = 6, kCombinerSubarray = 13, kCombinerResized = 18;
  static constexpr int kCombinerIndexed = 7, kCombinerHindexed = 9, kCombinerIndexedBlock = 10;
  static constexpr int kCombinerHindexedBlock = 19, kCombinerStruct = 12;
  static constexpr std::array kCombinersUnnamed = {15, 16, 17, 20};
  static constexpr int kOrderC = 56;
  static constexpr int kErrTruncate = 14, kErrOther = 15, kErrInStatus = 17, kErrPending = 18, kErrNoMem = 34;
  static constexpr int kErrUnsupportedOperation = 44;
  static constexpr int kErrRmaRange = 55, kErrRmaAttach = 56;
  static constexpr int kTagUb = 0x64400001;
  static constexpr int kWinBase = 0x66000001, kWinSize = 0x66000003, kWinModel = 0x66000009, kWinSeparate = 1;
  static constexpr int kModeNocheck = 1024, kThreadMultiple = 3;
};

/// Open MPI's: predefined handles are addresses of the library's data.
struct OpenMpi {
  static constexpr Flavour kFlavour = Flavour::openmpi;
  using Comm = Opaque<30>*;
  using Datatype = Opaque<31>*;
  using Op = Opaque<32>*;
  using Request = Opaque<33>*;
  using Group = Opaque<37>*;
  using Message = Opaque<34>*;
  using Info = Opaque<35>*;
  using File = Opaque<36>*;
  using Win = Opaque<38>*;
  using Errhandler = Opaque<39>*;
  using Session = Opaque<40>*;
  struct Status {
    int source;
    int tag;
    int error;
    int cancelled;
    std::size_t count;
  };
  static constexpr std::intptr_t kInPlace = 1, kStatusIgnore = 0;
  static constexpr int kUndefined = -32766, kRoot = -4, kAnySource = -1, kAnyTag = -1, kProcNull = -2;
  static constexpr int kCart = 1, kGraph = 2, kDistGraph = 3;
  static constexpr int kCombinerNamed = 0, kCombinerDup = 1, kCombinerContiguous = 2;
  static constexpr int kCombinerVector = 3, kCombinerHvector = 5, kCombinerSubarray = 12, kCombinerResized = 17;
  static constexpr int kCombinerIndexed = 6, kCombinerHindexed = 8, kCombinerIndexedBlock = 9;
  static constexpr int kCombinerHindexedBlock = 18, kCombinerStruct = 11;
  static constexpr std::array kCombinersUnnamed = {14, 15, 16};
  static constexpr int kOrderC = 0;
  static constexpr int kErrTruncate = 15, kErrOther = 16, kErrInStatus = 18, kErrPending = 19, kErrNoMem = 39;
  static constexpr int kErrUnsupportedOperation = 52;
  static constexpr int kErrRmaRange = 68, kErrRmaAttach = 69;
  static constexpr int kTagUb = 0;
  static constexpr int kWinBase = 7, kWinSize = 8, kWinModel = 11, kWinSeparate = 1, kModeNocheck = 1;
  static constexpr int kThreadMultiple = 3;
};

/// One row of handles.txt.
struct Predefined {
  std::string_view kind, name;
  Handle standard, mpich;
  const char* openmpi;  ///< symbol
  std::string_view meaning;
};

}  // namespace sennit::shim::mpi
