// Keeps objects for reuse, so that steady traffic allocates none.
#pragma once

#include <memory>
#include <utility>
#include <vector>

namespace flamegate::proxy {

// Thread: one. Objects handed out are owned by the taker until given back.
template <typename T>
class ObjectPool {
 public:
  explicit ObjectPool(size_t kept_max = 1024) : kept_max_(kept_max) {}

  // A kept object as it was left, or a new one made from `arguments`.
  template <typename... Arguments>
  std::unique_ptr<T> take(Arguments&&... arguments) {
    if (kept_.empty()) return std::make_unique<T>(std::forward<Arguments>(arguments)...);
    std::unique_ptr<T> object = std::move(kept_.back());
    kept_.pop_back();
    return object;
  }
  void give(std::unique_ptr<T> object) {
    if (kept_.size() < kept_max_) kept_.push_back(std::move(object));
  }

 private:
  size_t kept_max_;
  std::vector<std::unique_ptr<T>> kept_;
};

}  // namespace flamegate::proxy
