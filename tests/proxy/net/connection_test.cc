#include "proxy/net/connection.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/proxy/net/sockets.h"

namespace flamegate::proxy {
namespace {

using State = IoResult::State;

struct Counter final : ConnectionEvents {
  void onReady() override { ++count; }
  int count = 0;
};

// A connection over one end of a pair of sockets, and the peer's end.
struct ConnectionTest : testing::Test {
  ConnectionTest() { open(makeSocketPair()); }

  void open(SocketPair pair) {
    connection.reset();
    peer = std::move(pair.peer);
    connection = std::make_unique<Connection>(*loop, std::move(pair.ours), events,
                                              Readiness{.writable = true});
    ASSERT_TRUE(connection->start());
    loop->runOnce(false);
  }
  void shrinkBuffers() {
    const int bytes = 4096;
    for (int fd : {connection->fd(), peer.get()}) {
      ::setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    }
  }

  std::unique_ptr<EventLoop> loop = makeLoop();
  Counter events;
  UniqueFd peer;
  std::unique_ptr<Connection> connection;
  Buffer buffer{loop->buffers()};
};

TEST_F(ConnectionTest, ReadsWhatIsThereAndThenKnowsThatNothingIs) {
  EXPECT_EQ(connection->read(buffer, 1).state, State::Blocked);
  sendSome(peer.get(), "hello");
  loop->runOnce(false);
  EXPECT_TRUE(connection->readable());
  EXPECT_EQ(connection->read(buffer, 1).bytes, 5u);
  EXPECT_EQ(buffer.view(), "hello");
  EXPECT_FALSE(connection->readable());
  // Not an event, but bytes that came after the short read: they raise an edge of their own.
  sendSome(peer.get(), "!");
  EXPECT_EQ(connection->read(buffer, 1).state, State::Blocked);
  loop->runOnce(false);
  EXPECT_EQ(connection->read(buffer, 1).bytes, 1u);
}

TEST_F(ConnectionTest, GoesOnReadingAfterAReadThatFilledItsRoom) {
  const std::string sent(BufferPool::kSmallBytes, 'x');
  ASSERT_EQ(sendSome(peer.get(), sent), sent.size());
  loop->runOnce(false);
  EXPECT_EQ(connection->read(buffer, 1).bytes, sent.size());
  EXPECT_TRUE(connection->readable()) << "there may be more";
  buffer.clear();
  EXPECT_EQ(connection->read(buffer, 1).state, State::Blocked);
  EXPECT_FALSE(connection->readable());
}

TEST_F(ConnectionTest, WritesUntilTheSocketIsFullAndIsToldOfRoom) {
  shrinkBuffers();
  const std::string block(3000, 'x');
  IoResult result;
  size_t written = 0;
  do {
    result = connection->write(block);
    written += result.bytes;
  } while (connection->writable());
  EXPECT_GT(written, 0u);
  EXPECT_EQ(connection->write(block).state, State::Blocked);
  EXPECT_EQ(receiveSome(peer.get()).size(), written);
  loop->runOnce(false);
  EXPECT_TRUE(connection->writable());
  EXPECT_EQ(connection->write("y").bytes, 1u);
}

TEST_F(ConnectionTest, WritesSeveralPiecesAsOne) {
  std::string head = "head ";
  std::string body = "body";
  const iovec pieces[] = {{head.data(), head.size()}, {body.data(), body.size()}};
  EXPECT_EQ(connection->write(pieces).bytes, 9u);
  EXPECT_EQ(receiveSome(peer.get()), "head body");
}

// Whatever the sizes of blocks and buffers, no edge is missed.
TEST_F(ConnectionTest, MovesAllBytesAtEveryWatermark) {
  for (size_t piece : {1u, 100u, 4095u, 4096u, 4097u, 16384u, 16385u, 70000u}) {
    open(makeSocketPair());
    shrinkBuffers();
    const size_t total = piece * 40 + 100'000;
    const std::string block(piece, 'x');
    size_t written = 0;
    size_t received = 0;
    while (received < total) {
      while (written < total && connection->writable()) {
        const size_t wanted = std::min(block.size(), total - written);
        written += connection->write(std::string_view(block).substr(0, wanted)).bytes;
      }
      received += receiveSome(peer.get(), piece).size();
      loop->runOnce(false);
      ASSERT_TRUE(connection->writable() || written > received || written == total) << piece;
    }
    EXPECT_EQ(written, received);
  }
}

TEST_F(ConnectionTest, ReadsAllThatCameBeforeTheEnd) {
  sendSome(peer.get(), std::string(20'000, 'x'));
  peer.reset();
  loop->runOnce(false);
  EXPECT_TRUE(connection->peerClosed());
  size_t received = 0;
  IoResult result;
  while ((result = connection->read(buffer, 1)).state == State::Done) {
    received += result.bytes;
    buffer.clear();
  }
  EXPECT_EQ(received, 20'000u);
  EXPECT_EQ(result.state, State::Eof);
  EXPECT_EQ(connection->read(buffer, 1).state, State::Eof) << "and stays at the end";
}

TEST_F(ConnectionTest, WritesOnToAPeerThatClosedItsOwnDirection) {
  open(makeTcpPair());
  ::shutdown(peer.get(), SHUT_WR);
  runUntil(*loop, [&] { return connection->peerClosed(); });
  EXPECT_EQ(connection->read(buffer, 1).state, State::Eof);
  EXPECT_EQ(connection->write("still").bytes, 5u);
  waitFor(peer.get(), POLLIN);
  EXPECT_EQ(receiveSome(peer.get()), "still");
}

TEST_F(ConnectionTest, TellsAResetFromAnEnd) {
  open(makeTcpPair());
  const linger hard{1, 0};
  ::setsockopt(peer.get(), SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
  peer.reset();
  runUntil(*loop, [&] { return connection->readable(); });
  const IoResult result = connection->read(buffer, 1);
  EXPECT_EQ(result.state, State::Failed);
  EXPECT_EQ(result.error, ECONNRESET);
  EXPECT_EQ(connection->write("x").state, State::Failed) << "and no signal";
}

TEST_F(ConnectionTest, EndsItsDirectionOrResets) {
  open(makeTcpPair());
  connection->write("last");
  connection->closeWrite();
  waitFor(peer.get(), POLLRDHUP);
  bool ended = false;
  EXPECT_EQ(receiveSome(peer.get(), 100, &ended), "last");
  EXPECT_TRUE(ended);

  open(makeTcpPair());
  connection->resetOnClose();
  connection.reset();
  waitFor(peer.get(), POLLERR);
  char byte;
  EXPECT_EQ(::recv(peer.get(), &byte, 1, 0), -1);
  EXPECT_EQ(errno, ECONNRESET);
}

TEST_F(ConnectionTest, TellsNothingAfterStop) {
  const int before = events.count;
  connection->stop();
  sendSome(peer.get(), "x");
  settle(*loop);
  EXPECT_EQ(events.count, before);
}

}  // namespace
}  // namespace flamegate::proxy
