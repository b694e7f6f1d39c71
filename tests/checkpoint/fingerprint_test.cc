#include "checkpoint/fingerprint.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "temporary_directory.h"

namespace indexshare {
namespace {

const std::filesystem::path kGoldens = INDEXSHARE_SOURCE_DIR "/tests/golden/data";

std::string fingerprint_of(const std::filesystem::path& directory) {
  const auto checkpoint = Checkpoint::open(directory);
  EXPECT_TRUE(checkpoint.ok()) << checkpoint.error().message;
  if (!checkpoint.ok()) return {};
  const auto print = fingerprint(**checkpoint);
  EXPECT_TRUE(print.ok()) << print.error().message;
  return *print;
}

TEST(Fingerprint, TellsModelsApartButNotHowTheyAreCutIntoFiles) {
  EXPECT_EQ(fingerprint_of(kGoldens / "tiny-5.1"), fingerprint_of(kGoldens / "tiny-5.1-sharded"));
  EXPECT_NE(fingerprint_of(kGoldens / "tiny-5.1"), fingerprint_of(kGoldens / "tiny-5.2"));
}

TEST(Fingerprint, ChangesWithAValueAndWithTheConfiguration) {
  const TemporaryDirectory directory;
  std::filesystem::copy(kGoldens / "tiny-5.2", directory.path(), std::filesystem::copy_options::recursive);
  std::set<std::string> seen = {fingerprint_of(kGoldens / "tiny-5.2")};
  EXPECT_FALSE(seen.insert(fingerprint_of(directory.path())).second);
  {
    std::fstream file(directory.path() / "model.safetensors",
                      std::ios::in | std::ios::out | std::ios::binary);
    uint64_t header = 0;
    file.read(reinterpret_cast<char*>(&header), sizeof(header));
    file.seekp(static_cast<std::streamoff>(sizeof(header) + header));
    file.put('\x15');
  }
  EXPECT_TRUE(seen.insert(fingerprint_of(directory.path())).second);
  std::ofstream(directory.path() / "config.json", std::ios::app) << "\n";
  EXPECT_TRUE(seen.insert(fingerprint_of(directory.path())).second);
}

}  // namespace
}  // namespace indexshare
