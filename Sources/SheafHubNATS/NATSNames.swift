package import SheafBytes
package import SheafHubLog

/// The names of streams and subjects of a database (`format-spec/hub.md`, *Engines*).
package struct NATSNames: Sendable {
    private let stream: String
    private let subject: String

    package init(_ configuration: NATSConfiguration) {
        let database = configuration.database.hexadecimal
        stream = "\(configuration.prefix.uppercased())-\(database)"
        subject = "\(configuration.prefix).\(database)"
    }

    /// The subject of broadcasts.
    package var broadcasts: String { "\(subject).all" }
    /// The stream of objects, and its subjects.
    package var objects: String { "\(stream)-OBJECTS" }
    package var objectSubjects: String { "\(subject).o.>" }
    /// The subjects of the last messages of all objects.
    package var objectEnds: String { "\(subject).o.*.end" }
    /// The key-value bucket of the replaceable objects, and its stream.
    package var bucket: String { stream }
    package var bucketStream: String { "KV_\(stream)" }

    package func stream(of shard: HubShard) -> String { "\(streams(of: shard.log))\(shard.number)" }

    package func subject(of shard: HubShard) -> String {
        "\(subject).\(shard.log.hexadecimal).\(shard.number)"
    }

    /// The beginning of the names of all streams of a log.
    package func streams(of log: HubLogID) -> String { "\(stream)-\(log.hexadecimal)-" }

    /// The subjects of all shards of a log.
    package func subjects(of log: HubLogID) -> String { "\(subject).\(log.hexadecimal).*" }

    /// The subjects of all shards of all logs, and of some objects.
    package var subjectsOfLogs: String { "\(subject).*.*" }

    /// Returns the shard whose stream has a name; nil for the name of another stream.
    package func shard(ofStream name: String) -> HubShard? {
        let parts = name.dropFirst(stream.count + 1).split(separator: "-")
        guard parts.count == 2, let high = UInt64(parts[0].prefix(16), radix: 16),
            let low = UInt64(parts[0].dropFirst(16), radix: 16), let number = UInt16(parts[1])
        else { return nil }
        let shard = HubShard(number, of: HubLogID(low: low, high: high))
        return self.stream(of: shard) == name ? shard : nil
    }

    package func subject(ofKey key: String) -> String { "$KV.\(bucket).\(key)" }

    package func subjects(ofObject name: String) -> String { "\(subject).o.\(name).>" }

    package func end(ofObject name: String) -> String { "\(subject).o.\(name).end" }

    package func chunk(_ number: Int, ofObject name: String, contents: XXH3.Hash128) -> String {
        "\(subject).o.\(name).\(contents.hexadecimal).\(number)"
    }

    /// Returns the name of an object in the subject of its last message; nil for another subject.
    package func object(ofEnd end: String) -> String? {
        let parts = end.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count >= 2, parts.last == "end" else { return nil }
        let name = String(parts[parts.count - 2])
        return end == self.end(ofObject: name) ? name : nil
    }

    /// Throws unless a name can be a part of a subject.
    package static func check(_ name: String) throws(HubLogError) {
        let isName = name.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "/"), UInt8(ascii: "-"),
                UInt8(ascii: "_"):
                true
            default: false
            }
        }
        guard isName, 1...200 ~= name.utf8.count else {
            throw .refused(
                "the object name \(name.prefix(200)); it has 1 to 200 letters, digits and /-_")
        }
    }
}

/// The numbers in the reply subject of an entry that a consumer delivers.
package struct NATSDelivery: Equatable, Sendable {
    /// The number of the entry.
    package let entry: UInt64
    /// The number of the delivery, from 1 for each consumer.
    package let sequence: UInt64
    /// The time at which the leader stored the entry.
    package let wallMilliseconds: UInt64?

    package init(entry: UInt64, sequence: UInt64, wallMilliseconds: UInt64? = nil) {
        (self.entry, self.sequence) = (entry, sequence)
        self.wallMilliseconds = wallMilliseconds
    }

    /// Decodes `$JS.ACK.` and 7 tokens, or those after 2 more: domain and account.
    package init?(reply: String) {
        let parts = reply.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 9 || parts.count >= 11, parts[0] == "$JS", parts[1] == "ACK" else {
            return nil
        }
        let start = parts.count == 9 ? 5 : 7
        guard let entry = UInt64(parts[start]), let sequence = UInt64(parts[start + 1]),
            entry > 0, sequence > 0
        else { return nil }
        (self.entry, self.sequence) = (entry, sequence)
        wallMilliseconds = UInt64(parts[start + 2]).map { $0 / 1_000_000 }
    }
}

extension XXH3.Hash128 {
    /// The 32 hexadecimal digits of the number.
    fileprivate var hexadecimal: String {
        [high, low].map { half in
            let digits = String(half, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }
}
