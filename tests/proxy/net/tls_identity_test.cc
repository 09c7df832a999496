#include "proxy/net/tls_identity.h"

#include "tests/proxy/net/certificates.h"

namespace flamegate::proxy {
namespace {

using File = TlsFileIssue::File;

struct TlsIdentityTest : testing::Test {
  // The issue that keeps the files from being loaded.
  static TlsFileIssue issueOf(const TlsIdentityFiles& files) {
    const auto loaded = TlsIdentity::load(files);
    EXPECT_FALSE(loaded);
    return loaded ? TlsFileIssue() : loaded.error();
  }

  // The warnings of files that can be loaded.
  static std::vector<TlsFileIssue> warningsOf(const TlsIdentityFiles& files) {
    const auto loaded = TlsIdentity::load(files);
    EXPECT_TRUE(loaded) << loaded.error().what;
    return loaded ? (*loaded)->warnings() : std::vector<TlsFileIssue>();
  }

  CertificateFolder folder;
  TestCertificate authority{{.common_name = "authority", .authority = true}};
  TestCertificate leaf{{.names = {"A.test", "*.b.test", "IP:10.0.0.1"}}, &authority};
};

TEST_F(TlsIdentityTest, KnowsTheNamesOfTheLeaf) {
  const auto loaded = TlsIdentity::load(folder.write("site", leaf, {&authority}));
  ASSERT_TRUE(loaded) << loaded.error().what;
  EXPECT_EQ((*loaded)->names(), (std::vector<std::string>{"a.test", "*.b.test"}));
  EXPECT_TRUE((*loaded)->warnings().empty());
}

TEST_F(TlsIdentityTest, TakesTheCommonNameOfALeafWithoutNames) {
  const TestCertificate plain({.common_name = "Plain.test"});
  const auto loaded = TlsIdentity::load(folder.write("site", plain));
  ASSERT_TRUE(loaded);
  EXPECT_EQ((*loaded)->names(), std::vector<std::string>{"plain.test"});
}

TEST_F(TlsIdentityTest, LetsAWildcardStandForOneLabel) {  // RFC 6125 §6.4.3
  const auto loaded = TlsIdentity::load(folder.write("site", leaf));
  ASSERT_TRUE(loaded);
  const TlsIdentity& identity = **loaded;
  EXPECT_TRUE(identity.covers("a.test"));
  EXPECT_TRUE(identity.covers("x.b.test"));
  EXPECT_FALSE(identity.covers("b.test"));
  EXPECT_FALSE(identity.covers("x.y.b.test"));
  EXPECT_FALSE(identity.covers(".b.test"));
  EXPECT_FALSE(identity.covers(""));
}

TEST_F(TlsIdentityTest, RefusesFilesThatAreNotThere) {
  const TlsIdentityFiles files = folder.write("site", leaf);
  EXPECT_EQ(issueOf({folder.path("none"), files.key, ""}).what,
            "cannot be read: No such file or directory");
  const TlsFileIssue key = issueOf({files.cert, folder.path("none"), ""});
  EXPECT_EQ(key.file, File::Key);
  EXPECT_EQ(toError(key, {files.cert, folder.path("none"), ""}).detail,
            folder.path("none") + " cannot be read: No such file or directory");
  EXPECT_EQ(issueOf({files.cert, files.key, folder.path("none")}).file, File::Ocsp);
}

TEST_F(TlsIdentityTest, RefusesFilesOfAnotherKind) {
  const TlsIdentityFiles files = folder.write("site", leaf);
  EXPECT_EQ(issueOf({files.key, files.key, ""}).what, "holds no certificate in PEM form");
  EXPECT_EQ(issueOf({files.cert, files.cert, ""}).what.rfind("holds no private key in PEM form", 0),
            0U);
  const std::string garbage = folder.write("garbage", "-----BEGIN CERTIFICATE-----\nAAAA\n");
  EXPECT_EQ(issueOf({garbage, files.key, ""}).file, File::Cert);
  const std::string half = folder.write("half", leaf.pem().substr(0, 300));
  EXPECT_EQ(issueOf({half, files.key, ""}).file, File::Cert);
  const std::string second_half = folder.write("second", leaf.pem() + leaf.pem().substr(0, 300));
  EXPECT_NE(issueOf({second_half, files.key, ""}).what.find("after certificate 1"),
            std::string::npos);
}

TEST_F(TlsIdentityTest, RefusesAnotherKey) {
  const TlsIdentityFiles files = folder.write("site", leaf);
  const TlsIdentityFiles other = folder.write("other", authority);
  const TlsFileIssue issue = issueOf({files.cert, other.key, ""});
  EXPECT_EQ(issue.file, File::Key);
  EXPECT_EQ(issue.what, "does not belong to the certificate");
}

TEST_F(TlsIdentityTest, RefusesAnEncryptedKeyWithoutAskingForAPassword) {
  const TlsIdentityFiles files = folder.write("site", leaf);
  const std::string locked = folder.write("locked", leaf.keyPem("secret"));
  EXPECT_EQ(issueOf({files.cert, locked, ""}).what,
            "is encrypted; keys are read without a password");
}

TEST_F(TlsIdentityTest, RefusesAChainThatDoesNotBeginWithTheLeaf) {
  const TlsIdentityFiles files = folder.write("site", leaf);
  const std::string turned = folder.write("turned", authority.pem() + leaf.pem());
  const TlsFileIssue issue = issueOf({turned, files.key, ""});
  EXPECT_EQ(issue.file, File::Cert);
  EXPECT_EQ(issue.what,
            "must begin with the certificate that the key belongs to, which is number 2");
}

TEST_F(TlsIdentityTest, RefusesAKeyThatIsTooWeak) {
  const TestCertificate weak({.names = {"a.test"}, .key = KeyKind::WeakRsa});
  EXPECT_EQ(issueOf(folder.write("weak", weak)).what, "cannot be used: ee key too small");
}

TEST_F(TlsIdentityTest, WarnsOfDates) {
  const TestCertificate old({.valid_from = -100, .valid_until = -10});
  const auto expired = warningsOf(folder.write("old", old));
  ASSERT_EQ(expired.size(), 1U);
  EXPECT_EQ(expired[0].what, "has expired");
  const TestCertificate young({.valid_from = 100, .valid_until = 200});
  EXPECT_EQ(warningsOf(folder.write("young", young))[0].what, "is not valid yet");
}

TEST_F(TlsIdentityTest, WarnsOfAChainOutOfOrder) {  // RFC 5246 §7.4.2
  const TestCertificate stranger({.common_name = "stranger", .authority = true});
  const auto warnings = warningsOf(folder.write("site", leaf, {&stranger, &authority}));
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_EQ(warnings[0].what, "is out of order: certificate 2 has not issued the one before it");
}

TEST_F(TlsIdentityTest, TakesAStapleForItsLeafAlone) {
  TlsIdentityFiles files = folder.write("site", leaf, {&authority});
  files.ocsp = folder.write("good", authority.ocspFor(leaf, -60, 600));
  EXPECT_TRUE(warningsOf(files).empty());
  const TestCertificate other({.names = {"c.test"}}, &authority);
  files.ocsp = folder.write("other", authority.ocspFor(other, -60, 600));
  EXPECT_EQ(issueOf(files).what, "is an OCSP response for another certificate");
  files.ocsp = folder.write("garbage", "garbage");
  EXPECT_EQ(issueOf(files).what.rfind("is no OCSP response in DER form", 0), 0U);
}

TEST_F(TlsIdentityTest, WarnsOfAStapleThatIsOutOfDate) {
  TlsIdentityFiles files = folder.write("site", leaf, {&authority});
  files.ocsp = folder.write("old", authority.ocspFor(leaf, -2000, -1000));
  const auto warnings = warningsOf(files);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_EQ(warnings[0].file, File::Ocsp);
}

TEST_F(TlsIdentityTest, LoadsAuthorities) {
  const std::string file = folder.write("ca.pem", authority.pem() + leaf.pem());
  EXPECT_TRUE(TlsAuthorities::load(file));
  const auto missing = TlsAuthorities::load(folder.path("none"));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().detail,
            folder.path("none") + " cannot be read: No such file or directory");
  EXPECT_EQ(missing.error().source, ErrorSource::Config);
}

}  // namespace
}  // namespace flamegate::proxy
