// A profile as the JSON document that `sennit report` reads: schemas/profile.schema.json.
#pragma once

#include "base/json.h"
#include "profile/merge.h"

namespace sennit::profile {

Json to_json(const Profile& profile);

}  // namespace sennit::profile
