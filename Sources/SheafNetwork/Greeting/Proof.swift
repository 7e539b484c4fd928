import COpenSSL

/// What shows that its sender knows a secret, on this one connection and in this one direction.
///
/// The key material of TLS is another one for each connection, and both ends alone have it; but it does
/// not depend on the certificate of who has connected, so both public keys are in here, too.
package struct Proof {
    package static let length = 32
    /// The label by which the key material is asked for.
    package static let exporterLabel = "EXPORTER-sheaf-1"
    package static let exporterLength = 32

    /// Which end of a connection somebody is.
    package enum Role: UInt8, Sendable {
        case dialer = 1
        case listener = 2

        var other: Role { self == .dialer ? .listener : .dialer }
    }

    let exporter: [UInt8]

    /// Takes the key material of a connection.
    package init(exporter: [UInt8]) {
        self.exporter = exporter
    }

    /// The proof of a secret (`format-spec/network.md`, table 2).
    package func bytes(
        of secret: UnsafeRawBufferPointer, _ purpose: Purpose, role: Role, sender: [UInt8],
        receiver: [UInt8]
    ) -> [UInt8] {
        let message =
            Array("sheaf/1 \(purpose.rawValue)\0".utf8) + [role.rawValue] + sender + receiver
            + exporter
        var code = [UInt8](repeating: 0, count: Self.length)
        var length = UInt32(0)
        let made = HMAC(
            EVP_sha256(), secret.baseAddress, Int32(secret.count), message, message.count, &code,
            &length)
        precondition(
            made != nil && length == Self.length, "A library of TLS 1.3 has HMAC with SHA-256.")
        return code
    }

    /// What a secret is for.
    package enum Purpose: String, Sendable {
        case database
        case sharedKey = "shared key"
    }

    /// Compares without telling by the time it takes where the first difference is.
    static func isEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        left.count == right.count && CRYPTO_memcmp(left, right, left.count) == 0
    }
}
