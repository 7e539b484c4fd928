import COpenSSL
package import SheafTransport

/// The key with which peers of a database recognize each other in announcements.
///
/// Other hosts learn from them neither the database nor the peer, unless they know the key of the
/// authority, or guess the database id in development mode.
package struct DiscoveryKey: Sendable {
    /// Number of bytes of the proof that an announcement is one of the database.
    package static let proofLength = 16
    /// Number of bytes of the mark by which members that know the key of a peer recognize it.
    package static let markLength = 8

    private let secret: Secret

    /// Derives the key from what all peers of the database know.
    package init(_ credentials: Credentials) {
        let database = credentials.databaseID
        self =
            switch credentials.identity {
            case .sharedKey(let key): key.secret.withBytes { DiscoveryKey(database, secret: $0) }
            case .authority(let authority, _):
                authority.bytes.withUnsafeBytes { DiscoveryKey(database, secret: $0) }
            case .development:
                DiscoveryKey(database, secret: UnsafeRawBufferPointer(start: nil, count: 0))
            }
    }

    /// Derives the key of a database from a secret, which may be empty.
    package init(_ database: DatabaseID, secret: UnsafeRawBufferPointer) {
        self.secret = Secret(Self.hash(Array("sheaf discovery 1\0".utf8) + database.bytes, secret))
    }

    /// Returns the proof that belongs to an announced name.
    package func proof(of name: AnnouncedName) -> [UInt8] {
        Array(hash("database", name.bytes).prefix(Self.proofLength))
    }

    /// Returns the mark of a peer that belongs to an announced name.
    package func mark(of peer: PeerKey, in name: AnnouncedName) -> [UInt8] {
        Array(hash("peer", name.bytes + peer.bytes).prefix(Self.markLength))
    }

    private func hash(_ purpose: String, _ bytes: [UInt8]) -> [UInt8] {
        secret.withBytes { Self.hash(Array(purpose.utf8) + [0] + bytes, $0) }
    }

    /// Returns the HMAC with SHA-256 of a message.
    private static func hash(_ message: [UInt8], _ secret: UnsafeRawBufferPointer) -> [UInt8] {
        var code = [UInt8](repeating: 0, count: 32)
        var length = UInt32(0)
        // OpenSSL takes a missing key as the key of the HMAC before.
        var empty: UInt8 = 0
        let made = withUnsafePointer(to: &empty) {
            HMAC(
                EVP_sha256(), secret.baseAddress ?? UnsafeRawPointer($0), Int32(secret.count),
                message, message.count, &code, &length)
        }
        precondition(made != nil && length == 32, "OpenSSL has HMAC with SHA-256.")
        return code
    }
}

/// The random name under which a peer announces itself for a while.
package struct AnnouncedName: Hashable, Sendable {
    package static let length = 8

    /// The bytes, which are written as 16 hexadecimal digits.
    package let bytes: [UInt8]

    package init(random: UInt64) {
        bytes = (0..<8).map { UInt8(truncatingIfNeeded: random >> UInt64(56 - 8 * $0)) }
    }

    /// Reads a label of 16 hexadecimal digits, in lowercase; returns nil for other labels.
    package init?(label: [UInt8]) {
        guard label.count == 2 * Self.length,
            let bytes = [UInt8](hexadecimal: String(decoding: label, as: UTF8.self)[...])
        else { return nil }
        self.bytes = bytes
    }
}

extension AnnouncedName: CustomStringConvertible {
    package var description: String { bytes.hexadecimal }
}
