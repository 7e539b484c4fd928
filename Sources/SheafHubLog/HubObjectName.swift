package import SheafBytes
package import SheafDocument

/// The names of the objects beside a hub log (`format-spec/hub.md`, *Objects*).
package enum HubObjectName {
    /// The configuration, the only object that is replaced.
    package static let configuration = "config"
    package static let snapshots = "snapshot/"
    package static let parts = "part/"
    package static let ends = "end/"
    package static let files = "file/"

    /// Returns the name of a manifest, by the hash of its bytes.
    package static func snapshot(_ hash: XXH3.Hash128) -> String { snapshots + digits(hash) }

    /// Returns the name of a part, by the hash of its bytes.
    package static func part(_ hash: XXH3.Hash128) -> String { parts + digits(hash) }

    /// Returns the name of the head of an attachment, by its id.
    package static func file(_ id: AttachmentID) -> String { files + id.description }

    /// Returns the name of some chunks of an attachment.
    package static func file(_ id: AttachmentID, part: Int) -> String { "\(file(id))/\(part)" }

    /// Returns the attachment in the name of its head, or of its chunks with a number; nil for
    /// another name.
    package static func file(named name: String) -> (id: AttachmentID, part: Int?)? {
        guard name.hasPrefix(files) else { return nil }
        let fields = name.dropFirst(files.count).split(
            separator: "/", omittingEmptySubsequences: false)
        guard let first = fields.first, fields.count <= 2, let id = AttachmentID(String(first))
        else { return nil }
        guard fields.count == 2 else { return (id, nil) }
        guard let part = Int(fields[1]), part >= 0, name == file(id, part: part) else {
            return nil
        }
        return (id, part)
    }

    /// Returns the hash in the name of a manifest; nil for another name.
    package static func snapshot(named name: String) -> XXH3.Hash128? {
        hash(in: name, after: snapshots)
    }

    /// Returns the hash in the name of a part; nil for another name.
    package static func part(named name: String) -> XXH3.Hash128? { hash(in: name, after: parts) }

    /// Returns the name of the time at which a log was found to be replaced.
    package static func end(of log: HubLogID) -> String { ends + digits(log) }

    /// Returns the log in the name of such a time; nil for another name.
    package static func end(named name: String) -> HubLogID? { hash(in: name, after: ends) }

    /// Returns a hash as 32 hexadecimal digits, the upper half first.
    package static func digits(_ hash: XXH3.Hash128) -> String {
        [hash.high, hash.low].map { half in
            let digits = String(half, radix: 16)
            return String(repeating: "0", count: 16 - digits.utf8.count) + digits
        }
        .joined()
    }

    private static func hash(in name: String, after prefix: String) -> XXH3.Hash128? {
        guard name.hasPrefix(prefix) else { return nil }
        let digits = Array(name.utf8.dropFirst(prefix.utf8.count))
        guard digits.count == 32,
            digits.allSatisfy({ (48...57).contains($0) || (97...102).contains($0) }),
            let high = UInt64(String(decoding: digits[..<16], as: UTF8.self), radix: 16),
            let low = UInt64(String(decoding: digits[16...], as: UTF8.self), radix: 16)
        else { return nil }
        return XXH3.Hash128(low: low, high: high)
    }
}

extension HubObjects {
    /// Blocks, and returns a complete object of at most `limit` bytes.
    package func object(_ name: String, limit: Int) throws(HubLogError) -> [UInt8] {
        var bytes: [UInt8] = []
        try get(name) { (piece) throws(HubLogError) in
            guard piece.count <= limit - bytes.count else {
                throw .damaged("\(name), which is longer than \(limit) bytes,")
            }
            bytes += piece
        }
        return bytes
    }
}
