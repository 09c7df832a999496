// Keys that are part of the configuration but whose feature is not built yet.
#pragma once

#include <string_view>
#include <vector>

#include "config/load/tree.h"

namespace flamegate::config {

// When a value asks for something that is not there.
struct Unavailable {
  enum class When : unsigned char {
    Given,       // written at all
    NotEmpty,    // a list or map with an entry
    Is,          // one of the texts
    IsNot,       // none of the texts
    BeginsWith,  // a text that begins so
  };

  std::string_view path;  // `listeners[].tls.client_ca`; those of `profiling` and `clusters[]`
                          // hold for what a route repeats of them
  When when;
  std::vector<std::string_view> texts;
};

// The list. To make a feature available, remove its line.
const std::vector<Unavailable>& unavailableKeys();

// Reports every value of the tree that the list holds, and makes it Faulty.
void reportUnavailable(Node& root, Faults& faults);

}  // namespace flamegate::config
