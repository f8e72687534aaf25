#include "bench/put/job.h"

namespace sennit::bench::put {

std::string traffic_name(bool both_ways) {
  return both_ways ? "both_ways" : "one_way";
}

Json to_json(const Job& job) {
  Json cases = Json::array();
  for (const Case& each : job.cases)
    cases.push_back({{"bytes", each.bytes}, {"both_ways", each.both_ways}, {"window", each.window}});
  return {{"from", {{"id", job.from.id}, {"device", job.from.device}}},
          {"to", {{"id", job.to.id}, {"device", job.to.device}}},
          {"cases", cases},
          {"variants", job.variants},
          {"seconds", job.seconds},
          {"split", job.split},
          {"nccl", job.nccl},
          {"measured", job.measured},
          {"setup", job.setup},
          {"progress", job.progress},
          {"done", job.done},
          {"total", job.total}};
}

Result<Job> job_from(std::string_view text) {
  auto document = parse_json(text, "--job");
  if (!document) return document.status();
  try {
    Job job;
    for (auto [end, name] : {std::pair(&job.from, "from"), std::pair(&job.to, "to")}) {
      end->id = document->at(name).at("id").get<std::string>();
      end->device = document->at(name).at("device").get<int>();
    }
    for (const Json& each : document->at("cases"))
      job.cases.push_back({each.at("bytes"), each.at("both_ways"), each.at("window")});
    job.variants = document->at("variants").get<std::vector<std::string>>();
    job.seconds = document->at("seconds");
    job.split = document->at("split");
    job.nccl = document->at("nccl");
    job.measured = document->at("measured");
    job.setup = document->at("setup");
    job.progress = document->at("progress");
    job.done = document->at("done");
    job.total = document->at("total");
    return job;
  } catch (const Json::exception& error) {
    return Status(Code::invalid_argument, error.what(), "--job",
                  "This option is for the program itself; start it without");
  }
}

}  // namespace sennit::bench::put
