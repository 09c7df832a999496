// A doubly linked list whose links live in its elements: no allocation, O(1) removal.
#pragma once

#include "proxy/base/check.h"

namespace flamegate::proxy {

// Base of an element; `Tag` tells several lists of one element apart. Unlinks itself when destroyed.
template <typename Tag = void>
class ListNode {
 public:
  ListNode() = default;
  ListNode(const ListNode&) = delete;
  ListNode& operator=(const ListNode&) = delete;
  ~ListNode() { unlink(); }

  bool linked() const { return next_ != nullptr; }
  void unlink() {
    if (!linked()) return;
    prev_->next_ = next_;
    next_->prev_ = prev_;
    next_ = prev_ = nullptr;
  }

 private:
  template <typename, typename>
  friend class IntrusiveList;
  ListNode* next_ = nullptr;
  ListNode* prev_ = nullptr;
};

// Does not own its elements. Elements may be unlinked at any time, also the one just taken.
template <typename T, typename Tag = void>
class IntrusiveList {
 public:
  using Node = ListNode<Tag>;

  IntrusiveList() { head_.next_ = head_.prev_ = &head_; }
  ~IntrusiveList() {
    while (!empty()) front()->Node::unlink();
    head_.next_ = head_.prev_ = nullptr;
  }

  bool empty() const { return head_.next_ == &head_; }
  T* front() { return empty() ? nullptr : static_cast<T*>(head_.next_); }
  T* back() { return empty() ? nullptr : static_cast<T*>(head_.prev_); }
  T* next(T& element) {
    Node* node = static_cast<Node&>(element).next_;
    return node == &head_ ? nullptr : static_cast<T*>(node);
  }

  void pushBack(T& element) { insertBefore(head_, element); }
  void pushFront(T& element) { insertBefore(*head_.next_, element); }

  // Moves all elements of `other` to the end of this list.
  void takeAll(IntrusiveList& other) {
    if (other.empty()) return;
    Node* first = other.head_.next_;
    Node* last = other.head_.prev_;
    other.head_.next_ = other.head_.prev_ = &other.head_;
    first->prev_ = head_.prev_;
    head_.prev_->next_ = first;
    last->next_ = &head_;
    head_.prev_ = last;
  }

 private:
  void insertBefore(Node& position, T& element) {
    Node& node = element;
    DCHECK(!node.linked());
    node.prev_ = position.prev_;
    node.next_ = &position;
    position.prev_->next_ = &node;
    position.prev_ = &node;
  }

  Node head_;
};

}  // namespace flamegate::proxy
