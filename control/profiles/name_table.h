// The functions and strings that one JSON document speaks of, numbered anew: a document about a
// part of a profile does not carry the names of the rest.
#pragma once

#include <string>
#include <vector>

#include "control/profiles/model.h"

namespace flamegate::control {

// Owner: the function that writes the document; the profile outlives it.
class NameTable {
 public:
  explicit NameTable(const Profile& profile)
      : profile_(profile),
        function_numbers_(profile.functions.size(), kNoIndex),
        string_numbers_(profile.strings.size(), kNoIndex) {}

  // The function's number in the document.
  uint32_t number(FunctionId function);
  // The same for each entry; negative ones, the pseudo functions, stay.
  std::vector<int32_t> numbers(const std::vector<int32_t>& functions);

  // "strings":[…],"functions":{"name":[…],"file":[…],"line":[…]}
  void appendJson(std::string* out) const;

 private:
  uint32_t stringNumber(StringId id);

  const Profile& profile_;
  std::vector<uint32_t> function_numbers_;
  std::vector<uint32_t> string_numbers_;
  std::vector<StringId> strings_;
  std::vector<uint32_t> names_;
  std::vector<uint32_t> files_;
  std::vector<int32_t> lines_;
};

}  // namespace flamegate::control
