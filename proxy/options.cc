#include <cstdio>
#include <iterator>

#include "proxy/server/certificate_judge.h"
#include "proxy/tools.h"

namespace flamegate {
namespace {

enum OptionId { kListen = 256, kUpstream, kStore };

constexpr option kSourceOptions[] = {
    {"config", required_argument, nullptr, 'c'},
    {"listen", required_argument, nullptr, kListen},
    {"upstream", required_argument, nullptr, kUpstream},
    {"store", required_argument, nullptr, kStore},
    {"help", no_argument, nullptr, 'h'},
};

}  // namespace

int usageError(const std::string& message) {
  std::fprintf(stderr, "flamegate: %s\nflamegate --help shows how it is used\n", message.c_str());
  return kUsageError;
}

bool ConfigSource::given() const {
  return !file.empty() || !line.listen.empty() || !line.upstream.empty();
}

config::Loading ConfigSource::load() const {
  config::LoadOptions options;
  options.judge = proxy::certificateJudge();
  return file.empty() ? config::fromCommandLine(line, options) : config::loadFile(file, options);
}

std::vector<std::string> ConfigSource::arguments() const {
  if (!file.empty()) return {"-c", file};
  std::vector<std::string> out;
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) out.insert(out.end(), {option, value});
  };
  add("--listen", line.listen);
  add("--upstream", line.upstream);
  add("--store", line.store);
  return out;
}

std::optional<config::Config> ConfigSource::loadOrExplain() const {
  auto loading = load();
  if (loading) return std::move(loading->config);
  for (const config::Fault& fault : loading.error()) {
    std::fprintf(stderr, "%s\n", config::toText(fault).c_str());
  }
  return std::nullopt;
}

std::optional<int> parseOptions(int argc, char** argv, const char* usage, ConfigSource& source,
                                const std::vector<option>& others,
                                const std::function<void(int, std::string)>& take) {
  std::vector<option> options(others);
  options.insert(options.end(), std::begin(kSourceOptions), std::end(kSourceOptions));
  options.push_back({});
  optind = 1;
  for (int id; (id = getopt_long(argc, argv, "c:o:h", options.data(), nullptr)) != -1;) {
    switch (id) {
      case 'c': source.file = optarg; break;
      case kListen: source.line.listen = optarg; break;
      case kUpstream: source.line.upstream = optarg; break;
      case kStore: source.line.store = optarg; break;
      case 'h': std::fputs(usage, stdout); return 0;
      case '?': return kUsageError;
      default:
        if (!take) return usageError(std::string("option not known here: -") + static_cast<char>(id));
        take(id, optarg != nullptr ? optarg : "");
    }
  }
  return std::nullopt;
}

}  // namespace flamegate
