import COpenSSL
package import SheafTransport

/// A proof that its sender knows a secret, bound to one connection and one direction.
///
/// The TLS key material is unique to the connection and known only to its two ends. It does not
/// depend on the client certificate, so the proof includes both public keys.
package struct Proof {
    package static let length = 32
    /// The label of the exported key material.
    package static let exporterLabel = "EXPORTER-sheaf-1"
    package static let exporterLength = 32

    /// The role of one end of a connection.
    package enum Role: UInt8, Sendable {
        case dialer = 1
        case listener = 2

        var other: Role { self == .dialer ? .listener : .dialer }
    }

    let exporter: [UInt8]

    /// Creates proofs for a connection with this key material.
    package init(exporter: [UInt8]) {
        self.exporter = exporter
    }

    /// Returns the proof of a secret (`format-spec/network.md`, table 2).
    package func bytes(
        of secret: UnsafeRawBufferPointer, _ purpose: Purpose, role: Role, sender: PeerKey,
        receiver: PeerKey
    ) -> [UInt8] {
        let message =
            Array("sheaf/1 \(purpose.rawValue)\0".utf8) + [role.rawValue] + sender.bytes
            + receiver.bytes + exporter
        var code = [UInt8](repeating: 0, count: Self.length)
        var length = UInt32(0)
        let made = HMAC(
            EVP_sha256(), secret.baseAddress, Int32(secret.count), message, message.count, &code,
            &length)
        precondition(
            made != nil && length == Self.length, "OpenSSL has HMAC with SHA-256.")
        return code
    }

    /// The purpose of a secret.
    package enum Purpose: String, Sendable {
        case database
        case sharedKey = "shared key"
    }

    /// Whether two proofs are equal, compared in constant time.
    static func isEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        left.count == right.count && CRYPTO_memcmp(left, right, left.count) == 0
    }
}
