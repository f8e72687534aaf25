# Writes the source file FILE that says VERSION, and the commit it was built from where SOURCE is a checkout ("+" before
# it; "-dirty" behind it where files differ). Run at every build; the file changes only when it says something else.
set(version "${VERSION}")
find_package(Git QUIET)
if(Git_FOUND)
  execute_process(
    COMMAND ${GIT_EXECUTABLE} describe --always --dirty --exclude=* --abbrev=10
    WORKING_DIRECTORY ${SOURCE} OUTPUT_VARIABLE commit ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed)
  if(NOT failed AND commit MATCHES "^[0-9a-f]+(-dirty)?$")
    string(APPEND version "+${commit}")
  endif()
endif()
file(CONFIGURE OUTPUT ${FILE} CONTENT [[
#include "bench/put/version.h"

namespace sennit::bench::put {

const char* version() {
  return "@version@";
}

}  // namespace sennit::bench::put
]] @ONLY)
