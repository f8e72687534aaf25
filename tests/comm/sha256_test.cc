#include "comm/sha256.h"

#include <gtest/gtest.h>

#include "comm/secret.h"

namespace sennit::comm {
namespace {

std::span<const std::byte> bytes(std::string_view text) {
  return std::as_bytes(std::span(text));
}

// FIPS 180-2, appendix B.
TEST(Sha256, GivesThePublishedDigests) {
  EXPECT_EQ(hex(sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hex(sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hex(sha256(std::string(1'000'000, 'a'))),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, DoesNotDependOnHowTheMessageIsCut) {
  const std::string message(200, 'x');
  for (std::size_t cut = 0; cut <= message.size(); ++cut)
    EXPECT_EQ(Sha256().add(message.substr(0, cut)).add(message.substr(cut)).finish(), sha256(message));
}

// RFC 4231, cases 1, 2 and 6 (a key longer than a block).
TEST(Hmac, GivesThePublishedDigests) {
  EXPECT_EQ(hex(hmac_sha256(bytes(std::string(20, '\x0b')), bytes("Hi There"))),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(hex(hmac_sha256(bytes("Jefe"), bytes("what do ya want for nothing?"))),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(hex(hmac_sha256(bytes(std::string(131, '\xaa')),
                            bytes("Test Using Larger Than Block-Size Key - Hash Key First"))),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(SameDigest, ComparesEveryByte) {
  const Digest a = sha256("a");
  for (std::size_t i = 0; i < a.size(); ++i) {
    Digest b = a;
    EXPECT_TRUE(same_digest(a, b));
    b[i] ^= std::byte{1};
    EXPECT_FALSE(same_digest(a, b));
  }
}

TEST(Prove, HoldsForOneTalkAndOneSide) {
  const Talk talk{"node", 0, 1, 2, "n0", "n1"};
  const Digest proof = prove("secret", "guest", talk);
  EXPECT_EQ(proof, prove("secret", "guest", talk));
  EXPECT_NE(proof, prove("other", "guest", talk));
  EXPECT_NE(proof, prove("secret", "host", talk));
  for (const Talk& other :
       {Talk{"nodes", 0, 1, 2, "n0", "n1"}, Talk{"node", 1, 1, 2, "n0", "n1"}, Talk{"node", 0, 2, 2, "n0", "n1"},
        Talk{"node", 0, 1, 3, "n0", "n1"}, Talk{"node", 0, 1, 2, "n", "0n1"}, Talk{"node", 0, 1, 2, "n0", ""}})
    EXPECT_NE(proof, prove("secret", "guest", other));
}

TEST(RandomHex, IsNeverTheSame) {
  EXPECT_EQ(random_hex(16)->size(), 32u);
  EXPECT_NE(*random_hex(16), *random_hex(16));
}

}  // namespace
}  // namespace sennit::comm
