#include "comm/socket.h"

#include <gtest/gtest.h>

#include "comm/secret.h"
#include "soon.h"

namespace sennit::comm {
namespace {

TEST(ParseAddress, AcceptsNamesAndNumbers) {
  EXPECT_EQ(parse_address("node01:29400")->host, "node01");
  EXPECT_EQ(parse_address("node01:29400")->port, "29400");
  EXPECT_EQ(parse_address("[fe80::1]:5")->host, "fe80::1");
  EXPECT_EQ(parse_address("[fe80::1]:5")->text(), "[fe80::1]:5");
}

TEST(ParseAddress, RefusesTheRest) {
  for (const char* text :
       {"", ":", "host", "host:", ":80", "host:port", "host:80x", "host:65536", "fe80::1:80", "[]:1", "host:123456"})
    EXPECT_EQ(parse_address(text).status().code(), Code::invalid_argument) << text;
}

TEST(Unix, ReachesWhoeverListens) {
  const std::string name = "sennit-" + *random_hex(16);
  EXPECT_EQ(connect_unix(name, soon()).status().code(), Code::not_found);
  Result<UniqueFd> listener = listen_unix(name);
  ASSERT_TRUE(listener.ok()) << listener.status().text();
  const Result<UniqueFd> fd = connect_unix(name, soon());
  ASSERT_TRUE(fd.ok()) << fd.status().text();
  EXPECT_EQ(peer_uid(fd->get()), ::getuid());
  EXPECT_EQ(peer_pid(fd->get()), ::getpid());
  EXPECT_TRUE(accept_one(listener->get()));
  EXPECT_FALSE(accept_one(listener->get()));
  EXPECT_FALSE(listen_unix(name).ok());
  listener->reset();
  EXPECT_EQ(connect_unix(name, soon()).status().code(), Code::not_found);
}

TEST(Tcp, ReachesWhoeverListens) {
  Result<UniqueFd> listener = listen_tcp({"127.0.0.1", "0"});
  ASSERT_TRUE(listener.ok()) << listener.status().text();
  const std::string port = std::to_string(local_port(listener->get()));
  EXPECT_TRUE(connect_tcp({"127.0.0.1", port}, soon()).ok());
  listener->reset();
  const Status refused = connect_tcp({"127.0.0.1", port}, soon()).status();
  EXPECT_EQ(refused.code(), Code::not_found);
  EXPECT_NE(refused.text().find("127.0.0.1:" + port), std::string::npos);
}

TEST(Tcp, ListensEverywhereForAnyOtherName) {
  const Result<UniqueFd> listener = listen_tcp({"*", "0"});
  ASSERT_TRUE(listener.ok()) << listener.status().text();
  EXPECT_TRUE(connect_tcp({"127.0.0.1", std::to_string(local_port(listener->get()))}, soon()).ok());
}

TEST(Tcp, SaysWhichNameDoesNotResolve) {
  EXPECT_NE(connect_tcp({"no-such-host.invalid", "1"}, soon()).status().text().find("no-such-host.invalid"),
            std::string::npos);
}

TEST(OwnAddresses, EndWithLoopback) {
  EXPECT_EQ(own_addresses().back(), "127.0.0.1");
}

}  // namespace
}  // namespace sennit::comm
