import SheafNetwork
import SheafTestSupport
import Testing

/// The encoding of packets of multicast DNS.
struct DNSMessageTests {
    private func read(_ bytes: [UInt8]) throws -> DNSMessage? {
        try bytes.withUnsafeBytes { try DNSMessage($0) }
    }

    @Test func `random messages are read as they were written`() throws {
        let seed = UInt64.random(in: 0..<1_000_000_000)
        print("messages of multicast DNS, seed \(seed)")
        var random = SeededRandom(seed: seed, "messages")
        for _ in 0..<2_000 {
            let message = Self.message(&random)
            let bytes = message.bytes
            #expect(try read(bytes) == message)
            // A truncated message is refused.
            let cut = Array(bytes.prefix(Int.random(in: 0..<bytes.count, using: &random)))
            #expect(throws: DNSReader.Failure.self) { try read(cut) }
        }
    }

    @Test func `messages read from damaged bytes can be written and read again`() throws {
        let seed = UInt64.random(in: 0..<1_000_000_000)
        print("damaged messages of multicast DNS, seed \(seed)")
        var random = SeededRandom(seed: seed, "damage")
        for _ in 0..<5_000 {
            var bytes = Self.message(&random).bytes
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                bytes[random.below(bytes.count)] = UInt8(truncatingIfNeeded: random.next())
            }
            if let message = try? read(bytes) {
                #expect(try read(message.bytes) != nil || message.bytes.count > 9_000)
            }
        }
    }

    @Test func `names are compressed, and equal in both cases`() throws {
        var message = DNSMessage()
        let name = DNSName(literal: "a.example.local")
        message.questions = [
            DNSQuestion(name, 1), DNSQuestion(DNSName(literal: "b.example.local"), 1),
        ]
        #expect(message.bytes.count == 12 + 17 + 4 + 4 + 4)
        #expect(DNSName(literal: "A.eXample.LOCAL") == name)
        #expect("\(name)" == "a.example.local.")
    }

    @Test func `names that lead to themselves or to later bytes are refused`() {
        let header: [UInt8] = [0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0]
        for name: [UInt8] in [
            [0xC0, 12], [0xC0, 14], [1, 97, 0xC0, 12], [0xC0, 0xFF], [0x40, 0], [0x80, 0],
            [63, 97], [0xC0],
        ] {
            #expect(throws: DNSReader.Failure.self) { try read(header + name + [0, 1, 0, 1]) }
        }
    }

    @Test func `messages of many questions, records or pointers are refused`() throws {
        var message = DNSMessage()
        let name = DNSName(literal: "a.local")
        message.questions = [DNSQuestion](repeating: DNSQuestion(name, 1), count: 64)
        let address = DNSRecord.Contents.address(IPAddress(unchecked: [1, 2, 3, 4]))
        let record = DNSRecord(name, address, seconds: 1, replacesOthers: false)
        message.answers = [DNSRecord](repeating: record, count: 256)
        #expect(try read(message.bytes) == message)
        message.questions.append(DNSQuestion(name, 1))
        #expect(throws: DNSReader.Failure.self) { try read(message.bytes) }
        message.questions = []
        message.answers.append(record)
        #expect(throws: DNSReader.Failure.self) { try read(message.bytes) }
        // A name that is the end of a chain of pointers, each of which leads to the one before.
        for (count, isRead) in [(127, true), (128, false)] {
            // The data of a record of an unknown type holds the chain.
            var chain: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0]
            chain += [0, 0, 99, 0, 1, 0, 0, 0, 0]
            chain += [UInt8((2 * count) >> 8), UInt8(truncatingIfNeeded: 2 * count)]
            var target = 12
            for _ in 0..<count {
                let offset = chain.count
                chain += [0xC0 | UInt8(target >> 8), UInt8(truncatingIfNeeded: target)]
                target = offset
            }
            chain += [0xC0 | UInt8(target >> 8), UInt8(truncatingIfNeeded: target)]
            chain += [0, 99, 0, 1, 0, 0, 0, 0, 0, 0]
            #expect(((try? read(chain)) != nil) == isRead, "\(count) pointers")
        }
    }

    @Test func `labels over 63 bytes and names over 255 are refused`() throws {
        let label = [UInt8](repeating: 97, count: 63)
        #expect(DNSName(labels: [label + [97]]) == nil)
        #expect(DNSName(labels: [[]]) == nil)
        let longest = [label, label, label, Array(label.prefix(61))]
        let name = try #require(DNSName(labels: longest))
        #expect(DNSName(labels: [label, label, label, Array(label.prefix(62))]) == nil)
        var message = DNSMessage()
        message.questions = [DNSQuestion(name, 1)]
        #expect(try read(message.bytes) == message)
        // One byte more, which a pointer adds.
        let header: [UInt8] = [0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0]
        let first = Array(message.bytes.dropFirst(12))
        #expect(throws: DNSReader.Failure.self) {
            try read(header + first + [1, 97, 0xC0, 12, 0, 1, 0, 1])
        }
    }

    @Test func `other operations and failures are no messages of multicast DNS`() throws {
        for flags: [UInt8] in [[0x28, 0], [0, 3], [0x84, 1]] {
            #expect(try read([0, 0] + flags + [UInt8](repeating: 0, count: 8)) == nil)
        }
        #expect(throws: DNSReader.Failure.self) {
            try read([UInt8](repeating: 0, count: 9_001))
        }
        #expect(try read([UInt8](repeating: 0, count: 9_000)) != nil)
    }

    @Test func `records of other classes are omitted, and those with a wrong length refused`()
        throws
    {
        var message = DNSMessage()
        let name = DNSName(literal: "a.local")
        message.answers = [
            DNSRecord(
                name, .address(IPAddress(unchecked: [1, 2, 3, 4])), seconds: 5, replacesOthers: true
            )
        ]
        var bytes = message.bytes
        let start = 12 + 9
        bytes[start + 3] = 3
        #expect(try read(bytes)?.answers == [])
        bytes = message.bytes
        bytes[start + 9] = 3
        #expect(throws: DNSReader.Failure.self) { try read(bytes) }
    }

    /// Returns a random message of the kinds that are written.
    static func message(_ random: inout SeededRandom) -> DNSMessage {
        var message = DNSMessage()
        message.id = UInt16(truncatingIfNeeded: random.next())
        message.isResponse = random.chance(1, in: 2)
        message.isTruncated = random.chance(1, in: 2)
        let labels = (0..<4).map { _ in random.bytes(1 + random.below(20)) }
        func name(_ random: inout SeededRandom) -> DNSName {
            let chosen = (0..<random.below(5)).map { _ in labels[random.below(4)] }
            return DNSName(labels: chosen) ?? DNSName(literal: "local")
        }
        func records(_ random: inout SeededRandom) -> [DNSRecord] {
            (0..<random.below(6)).map { _ in
                let contents: DNSRecord.Contents =
                    switch random.below(5) {
                    case 0: .address(IPAddress(unchecked: random.bytes(4)))
                    case 1: .address(IPAddress(unchecked: random.bytes(16)))
                    case 2: .pointer(name(&random))
                    case 3:
                        .service(
                            priority: UInt16(random.below(65_536)), weight: 0,
                            port: UInt16(random.below(65_536)), target: name(&random))
                    default:
                        .texts((0..<random.below(4)).map { _ in random.bytes(random.below(256)) })
                    }
                return DNSRecord(
                    name(&random), contents, seconds: UInt32(truncatingIfNeeded: random.next()),
                    replacesOthers: random.chance(1, in: 2))
            }
        }
        message.questions = (0..<random.below(4)).map { _ in
            DNSQuestion(
                name(&random), UInt16(random.below(300)), permitsUnicast: random.chance(1, in: 2))
        }
        message.answers = records(&random)
        message.proposals = records(&random)
        message.additions = records(&random)
        return message
    }
}
