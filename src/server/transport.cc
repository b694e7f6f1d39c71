// The one file that knows OpenSSL.
#include "server/transport.h"

#include <openssl/ssl.h>

#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <utility>

#include "base/error.h"
#include "base/file.h"

namespace indexshare::server {
namespace {

namespace asio = boost::asio;
namespace ssl = asio::ssl;
using tcp = asio::ip::tcp;
using SystemError = Transport::SystemError;

constexpr int64_t kMaxPemBytes = int64_t{1} << 20;

class PlainTransport final : public Transport {
 public:
  explicit PlainTransport(tcp::socket socket) : socket_(std::move(socket)) {}

  void begin(Begun begun) override { begun({}); }
  void read_some(asio::mutable_buffer buffer, Done done) override {
    socket_.async_read_some(buffer, std::move(done));
  }
  void write_some(asio::const_buffer buffer, Done done) override {
    socket_.async_write_some(buffer, std::move(done));
  }
  void end_writing(Begun told) override {
    SystemError error;
    socket_.shutdown(tcp::socket::shutdown_send, error);
    told(error);
  }
  void close() override {
    SystemError ignored;
    socket_.close(ignored);
  }

 private:
  tcp::socket socket_;
};

class TlsTransport final : public Transport {
 public:
  TlsTransport(tcp::socket socket, ssl::context& context) : stream_(std::move(socket), context) {}

  void begin(Begun begun) override { stream_.async_handshake(ssl::stream_base::server, std::move(begun)); }
  void read_some(asio::mutable_buffer buffer, Done done) override {
    stream_.async_read_some(buffer, std::move(done));
  }
  void write_some(asio::const_buffer buffer, Done done) override {
    stream_.async_write_some(buffer, std::move(done));
  }
  void end_writing(Begun told) override { stream_.async_shutdown(std::move(told)); }
  void close() override {
    SystemError ignored;
    stream_.lowest_layer().close(ignored);
  }

 private:
  ssl::stream<tcp::socket> stream_;
};

}  // namespace

std::unique_ptr<Transport> plain_transport(tcp::socket socket) {
  return std::make_unique<PlainTransport>(std::move(socket));
}

struct TlsIdentity::Context {
  ssl::context ssl{ssl::context::tls_server};
};

TlsIdentity::TlsIdentity(std::unique_ptr<Context> context) : context_(std::move(context)) {}
TlsIdentity::TlsIdentity(TlsIdentity&&) noexcept = default;
TlsIdentity& TlsIdentity::operator=(TlsIdentity&&) noexcept = default;
TlsIdentity::~TlsIdentity() = default;

Result<TlsIdentity> TlsIdentity::load(const std::string& certificate_file, const std::string& key_file) {
  ASSIGN_OR_RETURN(const std::string certificate, read_file(certificate_file, kMaxPemBytes));
  ASSIGN_OR_RETURN(const std::string key, read_file(key_file, kMaxPemBytes));
  auto context = std::make_unique<Context>();
  ssl::context& ssl = context->ssl;
  SystemError error;
  SSL_CTX_set_min_proto_version(ssl.native_handle(), TLS1_2_VERSION);
  SSL_CTX_set_options(ssl.native_handle(), SSL_OP_NO_RENEGOTIATION);
  // Otherwise the terminal would be asked.
  ssl.set_password_callback([](size_t, ssl::context::password_purpose) { return std::string(); }, error);
  ssl.use_certificate_chain(asio::buffer(certificate), error);
  if (error) {
    return make_error("{}: no certificate that can be used, expected PEM: {}", certificate_file,
                      error.message());
  }
  ssl.use_private_key(asio::buffer(key), ssl::context::pem, error);
  if (error) {
    return make_error("{}: no key of the certificate in {}, expected PEM without a password: {}", key_file,
                      certificate_file, error.message());
  }
  return TlsIdentity(std::move(context));
}

std::unique_ptr<Transport> TlsIdentity::transport(tcp::socket socket) const {
  return std::make_unique<TlsTransport>(std::move(socket), context_->ssl);
}

}  // namespace indexshare::server
