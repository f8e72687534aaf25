#include "profile/file_room.h"

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

namespace sennit::profile {

Status file_error(const char* what, int error, const std::string& where) {
  const bool full = error == ENOSPC || error == EDQUOT || error == ENOMEM || error == EFBIG;
  const bool forbidden = error == EACCES || error == EPERM || error == EROFS;
  return Status(full        ? Code::out_of_memory
                : forbidden ? Code::permission_denied
                            : Code::system_error,
                fmt::format("{}: {}", what, std::strerror(error)), where,
                full ? "Free space there, or name another folder: sennit profile -o FOLDER"
                     : "Name a folder that can be written to: sennit profile -o FOLDER");
}

}  // namespace sennit::profile
