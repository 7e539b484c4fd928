import SheafBytes
import SheafDocument
import SheafHubLog
import SheafTestSupport

/// Authors that append to a shard, an engine with faults, and a reader.
struct ShardScene {
    /// An author and its messages that are not appended yet.
    private struct Writer {
        var chain: HubMessageChain
        var outbox: [[UInt8]] = []
        var groups: [ClosedRange<UInt64>] = []
        var commit: UInt64 = 1
        var appended: [[UInt8]] = []
        var stored: Set<UInt64> = []
    }

    static let log = HubLogID(low: 11, high: 12)
    private let plan: ShardPlan
    private var random: SeededRandom
    private var writers: [Writer]
    private(set) var killed: Set<HubAuthor> = []
    private var sent: [[UInt8]: SentMessage] = [:]
    /// The entries of the engine, and their digests.
    private var entries: [[UInt8]] = []
    private var digests: [UInt64] = [0]
    private(set) var unavailable: Set<UInt64> = []
    private var nextDelivery: UInt64 = 1
    private var rereads: [(due: UInt64, range: ClosedRange<UInt64>)] = []
    private(set) var now: UInt64 = 1
    private var step = 0
    private var isFinishing = false
    private(set) var reader: ShardReader
    /// The entries as the reader got them.
    private(set) var delivered: [UInt64: [UInt8]] = [:]
    private(set) var redeliveredCount = 0
    private(set) var lateCount = 0
    private(set) var reusedCount = 0
    private(set) var isTruncated = false
    private(set) var hasMissingMessages = false
    private(set) var hasSkipped = false
    /// Whether messages can follow later ones of their author after more than five seconds.
    var hasLateMessages: Bool { plan.reordered > 0 && plan.skipped > 0 && plan.rereadDelay > 0 }
    private(set) var results: [ReadResult] = []
    private(set) var faults: [ShardFault] = []
    private(set) var needCount = 0
    private(set) var lostEntries: Set<UInt64> = []
    private(set) var incidents: Set<ShardIncident.Kind> = []
    private(set) var violation: String?
    /// A position during the run, and the groups applied until then.
    private(set) var saved: (position: ShardPosition, results: Int)?

    init(seed: UInt64, _ plan: ShardPlan, limits: ShardReader.Limits = ShardReader.Limits()) {
        self.plan = plan
        random = SeededRandom(seed: seed, "shard scene")
        writers = (UInt64(1)...3).map { number in
            Self.writer(HubAuthor(site: Site(rawValue: number), opening: 100 + number))
        }
        reader = ShardReader(log: Self.log, shard: 0, limits: limits)
    }

    private static func writer(_ author: HubAuthor) -> Writer {
        Writer(chain: HubMessageChain(log: log, shard: 0, author: author))
    }

    // MARK: - The run

    mutating func run(steps: Int) {
        for number in 0..<steps {
            step = number
            now += UInt64(1 + random.below(80)) * 1_000_000
            if random.chance(1, in: 3) { write(random.below(3)) }
            if step == plan.truncationStep { truncate() }
            if step == plan.killStep { kill(random.below(3)) }
            append(random.below(3), isCareful: false)
            deliver()
            if random.chance(1, in: 4) { pass() }
            if number == steps / 2 { saved = (reader.position(), results.count) }
        }
        finish()
    }

    /// Ends with marks, so that each author shows how many messages it has appended.
    private mutating func finish() {
        isFinishing = true
        for number in writers.indices {
            appendAll(number)
            writeMark(number)
            appendAll(number)
        }
        // Each lost entry delays the reader by seconds, and so does each request for a message.
        for round in 0..<800 where round < 100 || finalPosition.entry < reader.read {
            now += 250_000_000
            deliverAll()
            pass()
            for number in writers.indices { appendAll(number) }
        }
        // Unfinished messages of a killed author are forgotten after a minute.
        for _ in 0..<(killed.isEmpty ? 0 : 60) {
            now += 1_000_000_000
            pass()
        }
        deliverAll()
    }

    /// Lets time pass: beats of all authors, and rereads that are due.
    private mutating func pass() {
        for writer in writers { reader.receive(.start, of: writer.chain.author, at: now) }
        reader.tick(at: now)
        perform()
        let due = rereads.filter { $0.due <= now }
        rereads.removeAll { $0.due <= now }
        for reread in due {
            for entry in reread.range where entry <= UInt64(entries.count) { deliver(entry) }
        }
        if !isTruncated, let late = lostEntries.max(), random.chance(1, in: 4) {
            lateCount += 1
            reader.receive(HubLogEntry(late, entries[Int(late - 1)]), at: now)
            perform()
        }
    }

    // MARK: - Authors

    private mutating func write(_ number: Int, replacing range: ClosedRange<UInt64>? = nil) {
        let payload = random.bytes(1 + random.below(40))
        let count = UInt64(entries.count)
        let digest = digests[entries.count] ^ (plan.forkStep.map { $0 <= step } ?? false ? 1 : 0)
        let read =
            count == 0
            ? ShardProgress.start
            : ShardProgress(read: count, digest: digest, stored: count) ?? .start
        let first = writers[number].chain.sequence + 1
        let commit = writers[number].commit
        writers[number].commit += 1
        let extent =
            range.map { HubMessage.Extent(base: $0.lowerBound, commit: $0.upperBound) }
            ?? HubMessage.Extent(base: commit - 1, commit: commit)
        let messages = writers[number].chain.messages(
            of: payload, extent, replaces: range != nil, read, length: 1 + random.below(20))
        let group = first...writers[number].chain.sequence
        writers[number].groups.append(group)
        for (index, message) in messages.enumerated() {
            record(message, of: number, group, range, read, payload: index == 0 ? payload : [])
            writers[number].outbox.append(message.bytes)
        }
    }

    private mutating func record(
        _ message: HubMessageChain.Encoded, of number: Int, _ group: ClosedRange<UInt64>?,
        _ replaces: ClosedRange<UInt64>?, _ progress: ShardProgress, payload: [UInt8]
    ) {
        sent[message.bytes] = SentMessage(
            author: message.id.author, sequence: message.id.sequence,
            confirmed: writers[number].chain.confirmed, group: group, replaces: replaces,
            read: progress.read, digest: progress.digest, payload: payload)
    }

    private mutating func writeMark(_ number: Int) {
        let mark = writers[number].chain.mark(.start, commit: writers[number].commit)
        let sequence = mark.id.sequence
        writers[number].groups.append(sequence...sequence)
        record(mark, of: number, nil, nil, .start, payload: [])
        writers[number].outbox.append(mark.bytes)
    }

    /// Appends the documents of groups with missing messages, as an author does that is asked.
    private mutating func replace(_ ranges: [ClosedRange<UInt64>], of author: HubAuthor) {
        guard let number = writers.firstIndex(where: { $0.chain.author == author }) else { return }
        for range in ranges {
            let groups = writers[number].groups.filter { $0.overlaps(range) }
            guard let first = groups.first, let last = groups.last else { continue }
            write(number, replacing: first.lowerBound...last.upperBound)
        }
    }

    /// Records that an author knows a message to be stored.
    private mutating func confirm(_ bytes: [UInt8], of number: Int) {
        guard let message = sent[bytes] else { return }
        writers[number].chain.confirm(message.sequence...message.sequence)
        writers[number].stored.insert(message.sequence)
        guard let replaces = message.replaces, let group = message.group,
            writers[number].stored.isSuperset(of: group)
        else { return }
        writers[number].chain.confirm(replaces)
    }

    /// Ends an author, of whose messages in flight some are stored; another one takes its place.
    private mutating func kill(_ number: Int) {
        for bytes in writers[number].outbox where random.chance(2, in: 3) {
            store(bytes, of: number)
        }
        let author = writers[number].chain.author
        killed.insert(author)
        writers[number] = Self.writer(
            HubAuthor(site: author.site, opening: author.opening + 100))
        hasMissingMessages = true
    }

    // MARK: - The engine

    private mutating func chance(_ rate: Int) -> Bool {
        !isFinishing && rate > 0 && random.chance(1, in: rate)
    }

    private mutating func append(_ number: Int, isCareful: Bool) {
        guard !writers[number].outbox.isEmpty else { return }
        let isReordered = !isCareful && writers[number].outbox.count > 1 && chance(plan.reordered)
        let bytes = writers[number].outbox.remove(at: isReordered ? 1 : 0)
        guard !isCareful else {
            store(bytes, of: number)
            return
        }
        if chance(plan.lost) {
            hasMissingMessages = true
            return
        }
        if chance(plan.damaged) {
            var damaged = bytes
            let bit = random.below(8 * damaged.count)
            damaged[bit / 8] ^= 1 << (bit % 8)
            if chance(3) { damaged.removeLast(random.below(damaged.count)) }
            if chance(3) { damaged = [] }
            hasMissingMessages = true
            store(damaged, of: nil)
            return
        }
        store(bytes, of: number)
        if chance(plan.repeated), let again = writers[number].appended.randomElement(using: &random)
        {
            store(again, of: number)
        }
    }

    private mutating func appendAll(_ number: Int) {
        while !writers[number].outbox.isEmpty { append(number, isCareful: true) }
    }

    private mutating func store(_ bytes: [UInt8], of number: Int?) {
        if let number {
            writers[number].appended.append(bytes)
            confirm(bytes, of: number)
        }
        entries.append(bytes)
        var writer = ByteWriter()
        writer.write(digests[digests.count - 1])
        writer.write(bytes.withUnsafeBytes { XXH3.hash64($0) })
        digests.append(writer.bytes.withUnsafeBytes { XXH3.hash64($0, seed: Self.log.low) })
        if number != nil, chance(plan.unavailable) {
            unavailable.insert(UInt64(entries.count))
            hasMissingMessages = true
        }
    }

    /// Drops the last entries, which the reader has read.
    private mutating func truncate() {
        let count = min(3, entries.count)
        guard count > 0, reader.read == UInt64(entries.count) else { return }
        entries.removeLast(count)
        digests.removeLast(count)
        nextDelivery = UInt64(entries.count + 1)
        unavailable = unavailable.filter { $0 < nextDelivery || lostEntries.contains($0) }
        isTruncated = true
    }

    // MARK: - Delivery

    private mutating func deliver() {
        guard nextDelivery <= UInt64(entries.count) else { return }
        if nextDelivery < UInt64(entries.count), chance(plan.skipped) {
            hasSkipped = true
            nextDelivery += 1
        }
        let entry = nextDelivery
        nextDelivery += 1
        deliver(entry)
        if chance(plan.redelivered) { deliver(entry - UInt64(random.below(Int(min(entry, 9))))) }
    }

    private mutating func deliverAll() {
        while nextDelivery <= UInt64(entries.count) {
            deliver(nextDelivery)
            nextDelivery += 1
        }
    }

    private mutating func deliver(_ entry: UInt64) {
        guard !unavailable.contains(entry), !lostEntries.contains(entry) else {
            hasSkipped = true
            return
        }
        let bytes = entries[Int(entry - 1)]
        if let known = delivered[entry] {
            if known == bytes { redeliveredCount += 1 } else { reusedCount += 1 }
        } else {
            delivered[entry] = bytes
        }
        reader.receive(HubLogEntry(entry, bytes), at: now)
        perform()
    }

    private mutating func perform() {
        for effect in reader.drainEffects() {
            switch effect {
            case .apply(let group): apply(group)
            case .fault(let fault): note(fault)
            case .reread(let range): rereads.append((now + plan.rereadDelay, range))
            case .need(let author, let ranges):
                needCount += 1
                replace(ranges, of: author)
            case .incident(let incident): incidents.insert(incident.kind)
            case .own, .appendMark: violation = "an effect for another hub: \(effect)"
            }
        }
        if let found = reader.violation { violation = found }
    }

    private mutating func apply(_ group: ShardGroup) {
        let first = group.parts[0].sequence
        results.append(.applied(group.author, first...first + UInt64(group.parts.count - 1)))
        let payloads = group.parts.map { part in part.payload ?? payload(inEntry: part.entry) }
        let whole = group.parts[0].entry
        let expected = delivered[whole].flatMap { sent[$0]?.payload }
        if payloads.flatMap(\.self) != expected { violation = "a group with another payload" }
    }

    private func payload(inEntry entry: UInt64) -> [UInt8] {
        guard let bytes = delivered[entry] else { return [] }
        let message = try? bytes.withUnsafeBytes {
            try HubMessage(decoding: $0, log: Self.log, shard: 0)
        }
        return message?.payload ?? []
    }

    private mutating func note(_ fault: ShardFault) {
        faults.append(fault)
        switch fault {
        case .repetition(_, _, let entry): results.append(.repetition(entry: entry))
        case .early(_, _, let entry): results.append(.early(entry: entry))
        case .damage(let entry, _): results.append(.damage(entry: entry))
        case .otherDigest(_, let entry): results.append(.otherDigest(entry: entry))
        case .lostEntries(let range): lostEntries.formUnion(range)
        default: break
        }
    }

    /// The position of the reader after the run.
    var finalPosition: ShardPosition {
        var copy = reader
        return copy.position()
    }

    // MARK: - The model

    /// Returns the results that a naive reader has on the same entries.
    func model() -> ShardModel {
        var model = ShardModel(log: Self.log)
        guard reader.read > 0 else { return model }
        for entry in 1...reader.read {
            let bytes = lostEntries.contains(entry) ? nil : delivered[entry]
            model.read(bytes, bytes.flatMap { sent[$0] })
        }
        return model
    }

    /// Reads the entries after the saved position with another reader.
    func resumed() -> (results: [ReadResult], digest: UInt64)? {
        guard let saved, saved.position.entry < reader.read else { return nil }
        var other = ShardReader(log: Self.log, shard: 0, at: saved.position)
        for entry in saved.position.entry + 1...reader.read {
            guard !lostEntries.contains(entry), let bytes = delivered[entry] else { continue }
            other.receive(HubLogEntry(entry, bytes), at: 1)
        }
        other.tick(at: 6_000_000_000)
        // Each call passes over the lost entries of one gap.
        while other.read < reader.read { other.tick(at: 6_000_000_000) }
        let results = other.drainEffects().compactMap { effect -> ReadResult? in
            guard case .apply(let group) = effect else { return nil }
            let first = group.parts[0].sequence
            return .applied(group.author, first...first + UInt64(group.parts.count - 1))
        }
        return (results, other.digest)
    }
}
