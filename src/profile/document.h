// A profile as the JSON document that `sennit report` reads: schemas/profile.schema.json.
#pragma once

#include "base/json.h"
#include "profile/merge.h"

namespace sennit::profile {

/// A kind of memory has this name in the document.
std::string_view name_of(Memory memory);

Json to_json(const Profile& profile);

}  // namespace sennit::profile
