import SheafBytes
import SheafDocument
import SheafHubLog
import Synchronization
import Testing

/// An engine of hub logs, as the conformance tests use it.
struct TestedEngine: Sendable {
    /// Creates another hub log over the same engine, with a maximum number of unread bytes.
    let makeLog: @Sendable (_ unreadLength: Int) -> any HubLog

    private static let logCount = Atomic<UInt64>(0)

    /// A hub log that was started, and its host.
    struct Member {
        let log: any HubLog
        let host: RecordingHost

        func stop() {
            log.stop()
            host.stopped()
        }
    }

    /// Starts a hub, which consumes what it receives unless `unreadLength` is limited.
    func start(unreadLength: Int? = nil) throws -> Member {
        let log = makeLog(unreadLength ?? HubLimits.unreadLength)
        let host = RecordingHost(consumingFrom: unreadLength == nil ? log : nil)
        try log.start(host)
        return Member(log: log, host: host)
    }

    /// Starts a hub, and creates a log with an id of its own.
    func startWithLog(
        shardCount: Int = 1, unreadLength: Int? = nil
    ) throws -> (Member, HubLogID) {
        let member = try start(unreadLength: unreadLength)
        let number = Self.logCount.add(1, ordering: .relaxed).newValue
        let id = HubLogID(low: number, high: 1)
        try member.log.create(id, shardCount: shardCount)
        return (member, id)
    }

    static func id(_ sequence: Int, author: UInt64 = 1, shard: UInt16 = 0) -> HubMessageID {
        HubMessageID(
            author: HubAuthor(site: Site(rawValue: author), opening: author), shard: shard,
            sequence: UInt64(sequence), checksum: UInt64(sequence) &* 0x9E37_79B9_7F4A_7C15)
    }

    /// Returns the bytes of a message, which differ for each sequence and author.
    static func message(_ sequence: Int, author: UInt64 = 1, length: Int = 200) -> [UInt8] {
        var bytes = [UInt8](repeating: UInt8(truncatingIfNeeded: sequence), count: max(length, 16))
        for index in 0..<8 {
            bytes[index] = UInt8(truncatingIfNeeded: sequence >> (8 * index))
            bytes[8 + index] = UInt8(truncatingIfNeeded: author >> (8 * UInt64(index)))
        }
        return bytes
    }
}

extension TestedEngine.Member {
    /// Appends messages, without waiting.
    func append(
        _ sequences: ClosedRange<Int>, to log: HubLogID, author: UInt64 = 1, shard: UInt16 = 0,
        length: Int = 200
    ) {
        for sequence in sequences {
            self.log.append(
                TestedEngine.message(sequence, author: author, length: length), to: log,
                as: TestedEngine.id(sequence, author: author, shard: shard))
        }
    }

    /// Appends messages, and waits until all of them are stored.
    func store(
        _ sequences: ClosedRange<Int>, to log: HubLogID, author: UInt64 = 1, shard: UInt16 = 0,
        length: Int = 200
    ) {
        let before = host.current.stored.count
        append(sequences, to: log, author: author, shard: shard, length: length)
        #expect(host.waits { $0.stored.count >= before + sequences.count })
    }
}
