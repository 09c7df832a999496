// An intrusive list that owns its elements.
#pragma once

#include <memory>

#include "proxy/base/intrusive_list.h"

namespace flamegate::proxy {

// Elements come in and go out as unique_ptr; what is left is destroyed with the list. An element
// must not be unlinked other than by take().
template <typename T>
class OwningList {
 public:
  OwningList() = default;
  OwningList(const OwningList&) = delete;
  OwningList& operator=(const OwningList&) = delete;
  ~OwningList() {
    while (T* element = list_.front()) take(*element);
  }

  bool empty() const { return list_.empty(); }
  size_t size() const { return size_; }
  T* front() { return list_.front(); }
  T* back() { return list_.back(); }
  T* next(T& element) { return list_.next(element); }

  T& pushFront(std::unique_ptr<T> element) {
    ++size_;
    list_.pushFront(*element);
    return *element.release();
  }
  std::unique_ptr<T> take(T& element) {
    --size_;
    static_cast<ListNode<>&>(element).unlink();
    return std::unique_ptr<T>(&element);
  }

 private:
  IntrusiveList<T> list_;
  size_t size_ = 0;
};

}  // namespace flamegate::proxy
