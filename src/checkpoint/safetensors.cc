#include "checkpoint/safetensors.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/error.h"
#include "base/json.h"

namespace indexshare {
namespace {

constexpr uint64_t kLengthBytes = 8;               // of the header's length
constexpr uint64_t kMaxHeaderBytes = 100'000'000;  // the reference implementation's bound

struct StoredType {
  std::string_view name;
  int64_t bits;
  std::optional<DType> dtype = {};
};

constexpr StoredType kStoredTypes[] = {
    {"F32", 32, DType::f32},
    {"BF16", 16, DType::bf16},
    {"F16", 16, DType::f16},
    {"F8_E4M3", 8, DType::fp8_e4m3},
    {"I32", 32, DType::i32},
    {"BOOL", 8},
    {"U8", 8},
    {"I8", 8},
    {"U16", 16},
    {"I16", 16},
    {"U32", 32},
    {"U64", 64},
    {"I64", 64},
    {"F64", 64},
    {"C64", 64},
    {"F8_E5M2", 8},
    {"F8_E8M0", 8},
    {"F8_E4M3FNUZ", 8},
    {"F8_E5M2FNUZ", 8},
    {"F6_E2M3", 6},
    {"F6_E3M2", 6},
    {"F4", 4},
};

const StoredType* find_type(std::string_view name) {
  const auto* row = std::ranges::find(kStoredTypes, name, &StoredType::name);
  return row != std::end(kStoredTypes) ? row : nullptr;
}

/// A JSON value as a count; nothing for fractions, negative numbers and those beyond int64.
std::optional<int64_t> as_count(const SortedJson& json) {
  if (!json.is_number_unsigned()) return std::nullopt;
  const auto value = json.get<uint64_t>();
  if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return std::nullopt;
  return static_cast<int64_t>(value);
}

uint64_t read_length(std::span<const std::byte> bytes) {
  uint64_t length = 0;
  for (uint64_t i = 0; i < kLengthBytes; ++i) length |= std::to_integer<uint64_t>(bytes[i]) << (8 * i);
  return length;
}

/// One entry of the header: {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}.
Result<StoredTensor> parse_tensor(const std::string& name, const SortedJson& entry,
                                  std::span<const std::byte> data, std::string_view source) {
  const auto fail = [&](std::string_view what) {
    return make_error("{}: tensor {}: {}", source, name, what);
  };
  if (!entry.is_object()) return fail("its entry in the header is not an object");

  const auto dtype = entry.find("dtype");
  if (dtype == entry.end() || !dtype->is_string()) return fail("has no \"dtype\" string");
  const StoredType* type = find_type(dtype->get_ref<const std::string&>());
  if (type == nullptr) return fail(fmt::format("has the unknown dtype {}", dtype->dump()));

  const auto shape = entry.find("shape");
  if (shape == entry.end() || !shape->is_array()) return fail("has no \"shape\" list");
  StoredTensor tensor{.dtype = type->name, .shape = {}, .bytes = {}};
  for (const SortedJson& size : *shape) {
    const std::optional<int64_t> count = as_count(size);
    if (!count) return fail(fmt::format("has {} in its shape, expected a whole number", size.dump()));
    tensor.shape.push_back(*count);
  }

  const auto offsets = entry.find("data_offsets");
  if (offsets == entry.end() || !offsets->is_array() || offsets->size() != 2) {
    return fail("has no \"data_offsets\" list of two numbers");
  }
  const std::optional<int64_t> begin = as_count((*offsets)[0]);
  const std::optional<int64_t> end = as_count((*offsets)[1]);
  if (!begin || !end || *begin > *end || *end > std::ssize(data)) {
    return fail(fmt::format("has data_offsets {}, which do not lie within the file's {} bytes of data",
                            offsets->dump(), data.size()));
  }
  const std::optional<int64_t> expected = tensor_bytes(tensor.shape, type->bits);
  if (!expected) {
    return fail(fmt::format("has the impossible size {} of {}", shape_text(tensor.shape), type->name));
  }
  if (*expected != *end - *begin) {
    return fail(fmt::format("{} of {} takes {} bytes, but its data_offsets span {}", shape_text(tensor.shape),
                            type->name, *expected, *end - *begin));
  }
  tensor.bytes = data.subspan(static_cast<size_t>(*begin), static_cast<size_t>(*expected));
  return tensor;
}

Result<std::map<std::string, std::string>> parse_metadata(const SortedJson& json, std::string_view source) {
  if (!json.is_object()) return make_error("{}: \"{}\" is not an object", source, kSafetensorsMetadata);
  std::map<std::string, std::string> metadata;
  for (const auto& [key, value] : json.items()) {
    if (!value.is_string()) {
      return make_error("{}: \"{}\" holds {} under \"{}\", expected a string", source, kSafetensorsMetadata,
                        json_kind(value), key);
    }
    metadata.emplace(key, value.get_ref<const std::string&>());
  }
  return metadata;
}

/// The tensors must tile the data: without overlaps (one would alias another), holes or a tail.
Result<void> check_tiling(const SafetensorsFile::Tensors& tensors, std::span<const std::byte> data,
                          std::string_view source) {
  std::vector<SafetensorsFile::Tensors::const_pointer> order;
  order.reserve(tensors.size());
  for (const auto& entry : tensors) order.push_back(&entry);
  const auto begin = [&](const auto* entry) { return entry->second.bytes.data() - data.data(); };
  std::ranges::sort(order, [&](const auto* a, const auto* b) {
    return std::pair(begin(a), a->second.bytes.size()) < std::pair(begin(b), b->second.bytes.size());
  });
  int64_t end = 0;
  for (const auto* entry : order) {
    const int64_t start = begin(entry);
    if (start != end) {
      return make_error("{}: tensor {} begins at byte {} of the data, expected {} ({})", source, entry->first,
                        start, end,
                        start < end ? "it overlaps another tensor" : "bytes before it belong to none");
    }
    end += std::ssize(entry->second.bytes);
  }
  if (end != std::ssize(data)) {
    return make_error("{}: {} bytes behind the last tensor belong to none", source, std::ssize(data) - end);
  }
  return {};
}

}  // namespace

std::optional<DType> dtype_from_safetensors(std::string_view name) {
  const StoredType* type = find_type(name);
  return type != nullptr ? type->dtype : std::nullopt;
}

std::string_view dtype_to_safetensors(DType dtype) {
  return std::ranges::find(kStoredTypes, std::optional(dtype), &StoredType::dtype)->name;
}

std::optional<int64_t> tensor_bytes(std::span<const int64_t> shape, int64_t bits) {
  auto total = static_cast<uint64_t>(bits);
  for (const int64_t size : shape) {
    if (size < 0 || __builtin_mul_overflow(total, static_cast<uint64_t>(size), &total)) return std::nullopt;
  }
  if (total % 8 != 0) return std::nullopt;
  return static_cast<int64_t>(total / 8);
}

std::string shape_text(std::span<const int64_t> shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

Result<SafetensorsFile> SafetensorsFile::open(const std::filesystem::path& path) {
  ASSIGN_OR_RETURN(MappedFile file, MappedFile::open(path));
  ASSIGN_OR_RETURN(SafetensorsFile result, parse(file.bytes(), path.string()));
  result.file_ = std::move(file);
  return result;
}

Result<SafetensorsFile> SafetensorsFile::parse(std::span<const std::byte> bytes, std::string_view source) {
  if (bytes.size() < kLengthBytes) {
    return make_error("{}: has {} bytes, too few for a safetensors file", source, bytes.size());
  }
  const uint64_t length = read_length(bytes);
  const uint64_t limit = std::min<uint64_t>(kMaxHeaderBytes, bytes.size() - kLengthBytes);
  if (length > limit) {
    return make_error(
        "{}: the header claims {} bytes, but there may be at most {}; the file is truncated or not "
        "a safetensors file",
        source, length, limit);
  }
  const auto header = bytes.subspan(kLengthBytes, static_cast<size_t>(length));
  const auto data = bytes.subspan(static_cast<size_t>(kLengthBytes + length));
  const std::string_view text(reinterpret_cast<const char*>(header.data()), header.size());
  if (!text.starts_with('{')) return make_error("{}: the header does not begin with '{{'", source);
  ASSIGN_OR_RETURN(const SortedJson json, parse_sorted_json(text, source));

  SafetensorsFile file;
  for (const auto& [name, entry] : json.items()) {
    if (name == kSafetensorsMetadata) {
      ASSIGN_OR_RETURN(file.metadata_, parse_metadata(entry, source));
    } else {
      ASSIGN_OR_RETURN(StoredTensor tensor, parse_tensor(name, entry, data, source));
      file.tensors_.emplace(name, std::move(tensor));
    }
  }
  RETURN_IF_ERROR(check_tiling(file.tensors_, data, source));
  return file;
}

const StoredTensor* SafetensorsFile::find(std::string_view name) const {
  const auto it = tensors_.find(name);
  return it != tensors_.end() ? &it->second : nullptr;
}

}  // namespace indexshare
