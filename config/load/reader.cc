#include "config/load/reader.h"

#include <algorithm>
#include <numeric>

namespace flamegate::config {
namespace {

constexpr size_t kComparedBytesMax = 40;

// Insertions, deletions, replacements and swaps of neighbours that make one text the other.
size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> rows(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) rows[i][0] = i;
  std::iota(rows[0].begin(), rows[0].end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = rows[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      rows[i][j] = std::min({replaced, rows[i - 1][j] + 1, rows[i][j - 1] + 1});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) rows[i][j] = std::min(rows[i][j], rows[i - 2][j - 2] + 1);
    }
  }
  return rows.back().back();
}

std::string joinNames(std::initializer_list<std::string_view> names) {
  std::string text;
  for (const std::string_view name : names) {
    if (!text.empty()) text += ", ";
    text.append("`").append(name).append("`");
  }
  return text;
}

}  // namespace

std::string_view findNearest(std::string_view written, const std::vector<std::string>& words) {
  if (written.size() > kComparedBytesMax) return {};
  std::string_view nearest;
  size_t smallest = std::max<size_t>(written.size() / 3, 1) + 1;
  for (const std::string& word : words) {
    const size_t distance = editDistance(written, word);
    if (distance >= smallest) continue;
    smallest = distance;
    nearest = word;
  }
  return nearest;
}

bool Reader::expect(Node::Kind kind, std::string_view wanted) {
  if (node_.kind == kind) return true;
  if (node_.kind != Node::Kind::Faulty) {
    fault("must be " + std::string(wanted) + ", not " + std::string(kindName(node_.kind)));
  }
  return false;
}

void Reader::scalar(const Scalar& scalar) {
  if (!expect(Node::Kind::Scalar, "a single value (" + scalar.type + ")")) return;
  if (Problem problem = scalar.assign(node_.text)) fault(std::move(*problem));
}

void Reader::map(const Body& body, std::string_view) {
  if (!expect(Node::Kind::Map, "a map of keys")) return;
  body(*this);
  reportUnknownKeys();
}

void Reader::list(Elements& elements) {
  if (!expect(Node::Kind::List, "a list")) return;
  elements.clear();
  if (elements.needed() && node_.items.empty()) fault("must not be empty");
  const size_t count = std::min(node_.items.size(), elements.sizeMax());
  if (count < node_.items.size()) {
    fault("must have at most " + std::to_string(elements.sizeMax()) + " elements");
  }
  for (size_t i = 0; i < count; ++i) {
    elements.append();
    Reader element(node_.items[i], indexPath(path_, i), faults_);
    elements.visit(elements.size() - 1, element);
  }
}

void Reader::dictionary(Elements& elements) {
  if (!expect(Node::Kind::Map, "a map of names")) return;
  elements.clear();
  const size_t count = std::min(node_.entries.size(), elements.sizeMax());
  if (count < node_.entries.size()) {
    fault("must have at most " + std::to_string(elements.sizeMax()) + " entries");
  }
  for (size_t i = 0; i < count; ++i) {
    const Entry& entry = node_.entries[i];
    const std::string path = joinPath(path_, entry.key);
    elements.append();
    if (Problem problem = elements.setName(i, entry.key)) {
      faults_.add(entry.at, path, "the name " + *problem);
    }
    Reader element(entry.value, path, faults_);
    elements.visit(i, element);
  }
}

void Reader::scalarOrMap(const Scalar& scalar, const Body& body, std::string_view like) {
  if (node_.kind == Node::Kind::Map) {
    map(body, like);
  } else if (expect(Node::Kind::Scalar, "a single value (" + scalar.type + ") or a map of keys")) {
    this->scalar(scalar);
  }
}

void Reader::key(std::string_view name, Need need, const Value& value) {
  known_.emplace_back(name);
  const Entry* entry = node_.find(name);
  if (entry != nullptr && entry->value.kind != Node::Kind::Null) {
    Reader reader(entry->value, joinPath(path_, name), faults_);
    value.visit(reader);
  } else if (need == Need::Required) {
    faults_.add(node_.at, joinPath(path_, name), "is required");
  }
}

bool Reader::given(std::string_view name) const {
  const Entry* entry = node_.find(name);
  if (entry == nullptr || entry->value.kind == Node::Kind::Null) return false;
  return entry->value.kind != Node::Kind::List || !entry->value.items.empty();
}

size_t Reader::countGiven(std::initializer_list<std::string_view> names) const {
  return static_cast<size_t>(std::count_if(names.begin(), names.end(),
                                           [this](std::string_view name) { return given(name); }));
}

void Reader::atMostOne(std::initializer_list<std::string_view> names) {
  if (countGiven(names) > 1) fault("must have only one of " + joinNames(names));
}

void Reader::exactlyOne(std::initializer_list<std::string_view> names) {
  if (countGiven(names) == 0) fault("needs one of " + joinNames(names));
  atMostOne(names);
}

void Reader::needs(std::string_view key, std::string_view other) {
  if (!given(key) || given(other)) return;
  faults_.add(node_.find(key)->value.at, joinPath(path_, key),
              "needs `" + std::string(other) + "` beside it");
}

void Reader::reportUnknownKeys() {
  for (const Entry& entry : node_.entries) {
    if (entry.value.kind == Node::Kind::Faulty) continue;
    if (std::find(known_.begin(), known_.end(), entry.key) != known_.end()) continue;
    const std::string_view nearest = findNearest(entry.key, known_);
    std::string message = "unknown key";
    if (!nearest.empty()) message.append("; did you mean `").append(nearest).append("`?");
    faults_.add(entry.at, joinPath(path_, entry.key), std::move(message));
  }
}

}  // namespace flamegate::config
