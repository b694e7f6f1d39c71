// The bytes of one connection, plain or under TLS. For the HTTP server alone: types of Asio show here.
#pragma once

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <functional>
#include <memory>
#include <string>

#include "indexshare/result.h"

namespace indexshare::server {

/// Belongs to one thread. What was asked for must keep it alive until it is done, also after close().
class Transport {
 public:
  using SystemError = boost::system::error_code;
  using Begun = std::function<void(SystemError error)>;
  using Done = std::function<void(SystemError error, size_t count)>;

  virtual ~Transport() = default;

  /// Before anything else: the handshake, where there is one.
  virtual void begin(Begun begun) = 0;
  virtual void read_some(boost::asio::mutable_buffer buffer, Done done) = 0;
  virtual void write_some(boost::asio::const_buffer buffer, Done done) = 0;
  /// Tells the other side that nothing more comes. `told` may be called late, or with an error.
  virtual void end_writing(Begun told) = 0;
  virtual void close() = 0;
};

std::unique_ptr<Transport> plain_transport(boost::asio::ip::tcp::socket socket);

/// A certificate with its key. TLS 1.2 and newer.
class TlsIdentity {
 public:
  /// PEM files: the certificate, those that signed it after it, and its key without a password.
  static Result<TlsIdentity> load(const std::string& certificate_file, const std::string& key_file);

  TlsIdentity(TlsIdentity&&) noexcept;
  TlsIdentity& operator=(TlsIdentity&&) noexcept;
  ~TlsIdentity();

  /// A server's side. The identity must outlive it.
  std::unique_ptr<Transport> transport(boost::asio::ip::tcp::socket socket) const;

 private:
  struct Context;
  explicit TlsIdentity(std::unique_ptr<Context> context);
  std::unique_ptr<Context> context_;
};

}  // namespace indexshare::server
