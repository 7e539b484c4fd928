import Sheaf
import SheafAttachments
import SheafStorage
import SheafSystem
import SheafTestSupport
import Testing

/// A directory of attachments under random calls and faults, and a model of its contents.
final class AttachmentSimulation {
    private var volume: SimulatedVolume
    private var store: AttachmentStore
    private let clock = FakeClock()
    private var random: SeededRandom
    /// The files that the store reported as complete.
    private var complete = Set<Int>()
    /// The chunks of partial files that the store reported as durable.
    private var durable: [Int: Set<Int>] = [:]
    private var taken: [Int: Set<Int>] = [:]
    /// The time at which each file was last requested or found referenced.
    private var wanted: [Int: UInt64] = [:]
    /// The files whose state is unknown because a call failed.
    private var unsure = Set<Int>()
    private(set) var counts: [String: Int] = [:]
    private let comment: Comment

    private static let samples = Array(SampleFile.all[1...4])
    private static let grace: UInt64 = 100

    init(seed: UInt64) {
        comment = "seed \(seed)"
        random = SeededRandom(seed: seed, "attachments")
        volume = SimulatedVolume(seed: seed)
        store = AttachmentStore(volume)
        reopen(volume)
    }

    private var now: UInt64 { clock.clock.wallMilliseconds() }

    private func reopen(_ volume: SimulatedVolume) {
        store.close()
        self.volume = volume
        let (clock, source) = (clock, SeededSource(seed: random.next()))
        let batch = 1 + random.below(3)
        store = AttachmentStore(volume) {
            $0.clock = clock.clock
            $0.random = { source.next() }
            $0.chunksPerSync = batch
        }
    }

    /// Runs one random operation, perhaps with a fault or a power cut.
    func step() throws {
        clock.advance(milliseconds: UInt64(random.below(30)))
        let number = random.below(Self.samples.count)
        if random.chance(1, in: 6) {
            volume.crashAtCall(volume.counters.mutating + 1 + random.below(6))
        } else if random.chance(1, in: 6) {
            let code: VolumeError.Code = random.chance(1, in: 2) ? .inputOutput : .noSpace
            volume.inject(SimulatedFault(.error(code), atCall: 1 + random.below(9)))
        }
        switch random.below(12) {
        case 0: try attempt("add", number) { try add(number) }
        case 1, 2: try attempt("begin", number) { try begin(number) }
        case 3, 4, 5: try attempt("put", number) { try put(number) }
        case 6: try attempt("settle", number) { try settle(number) }
        case 7: try attempt("abandon", number) { try abandon(number) }
        case 8, 9: try collect()
        default:
            volume.removeFaults()
            try lose(keepingPower: random.chance(1, in: 2))
        }
        volume.removeFaults()
        volume.crashAtCall(.max)
        if volume.isPowerCut {
            try lose(keepingPower: false)
        } else if random.chance(1, in: 3) {
            try check()
        }
    }

    /// Runs an operation that may fail; after a failure the state of the file is unknown.
    private func attempt(_ name: String, _ number: Int, _ body: () throws -> Void) throws {
        do {
            try body()
            counts[name, default: 0] += 1
        } catch AttachmentError.volume {
            counts["failure", default: 0] += 1
            unsure.insert(number)
        }
    }

    private func add(_ number: Int) throws {
        let id = try store.add(Self.samples[number].bytes)
        #expect(id == Self.samples[number].id, comment)
        recordComplete(number)
    }

    private func recordComplete(_ number: Int) {
        complete.insert(number)
        (durable[number], taken[number]) = (nil, nil)
        wanted[number] = now
        unsure.remove(number)
    }

    private func begin(_ number: Int) throws {
        let incoming = try store.begin(Self.samples[number])
        wanted[number] = now
        guard let incoming else {
            #expect(complete.contains(number) || unsure.contains(number), comment)
            return recordComplete(number)
        }
        #expect(!complete.contains(number), comment)
        try check(incoming, number)
        let missing = Set(incoming.missingChunks().flatMap { Array($0) })
        taken[number] = Set(0..<incoming.list.count).subtracting(missing)
    }

    private func put(_ number: Int) throws {
        guard let incoming = try store.incoming(Self.samples[number].id) else { return }
        let sample = Self.samples[number]
        let chunk = random.below(sample.list.count)
        if random.chance(1, in: 3) {
            var wrong = sample.chunk(chunk)
            wrong[random.below(wrong.count)] ^= 1 << UInt8(random.below(8))
            #expect(throws: AttachmentError.wrongChunk(sample.id, chunk: chunk), comment) {
                try incoming.put(wrong, at: chunk)
            }
            return
        }
        switch try incoming.put(sample.chunk(chunk), at: chunk) {
        case .accepted, .duplicate: taken[number, default: []].insert(chunk)
        case .complete: recordComplete(number)
        }
    }

    private func settle(_ number: Int) throws {
        guard let incoming = try store.incoming(Self.samples[number].id) else { return }
        if try incoming.flush() { return recordComplete(number) }
        durable[number] = taken[number]
    }

    private func abandon(_ number: Int) throws {
        guard try !store.has(Self.samples[number].id) else { return }
        try store.abandon(Self.samples[number].id)
        (durable[number], taken[number], wanted[number]) = (nil, nil, nil)
    }

    private func collect() throws {
        let named = (0..<Self.samples.count).filter { _ in random.chance(1, in: 3) }
        let names = Set(named.map { Self.samples[$0].id })
        let before = Set(try store.ids)
        var isDone = true
        do {
            _ = try store.collect(graceMilliseconds: Self.grace) { $0.intersection(names) }
        } catch AttachmentError.volume {
            counts["failure", default: 0] += 1
            unsure.formUnion(Self.samples.indices)
            isDone = false
        }
        volume.removeFaults()
        let after = Set(try store.ids)
        for number in named where before.contains(Self.samples[number].id) {
            #expect(after.contains(Self.samples[number].id), comment)
            if isDone { wanted[number] = now }
        }
        for number in Self.samples.indices
        where before.contains(Self.samples[number].id) && !after.contains(Self.samples[number].id) {
            counts["removed", default: 0] += 1
            #expect(now - (wanted[number] ?? 0) >= Self.grace, comment)
            complete.remove(number)
            (durable[number], taken[number]) = (nil, nil)
            // A power cut may restore the file name.
            unsure.insert(number)
        }
    }

    /// Ends the process, and cuts the power unless `keepingPower`.
    private func lose(keepingPower: Bool) throws {
        counts[keepingPower ? "death" : "cut", default: 0] += 1
        reopen(
            keepingPower
                ? volume.processDeath(seed: random.next()) : volume.powerCut(seed: random.next()))
        taken = durable
        try check()
    }

    private func check(_ incoming: IncomingAttachment, _ number: Int) throws {
        for chunk in 0..<incoming.list.count where incoming.contains(chunk) {
            #expect(try incoming.read(chunk) == Self.samples[number].chunk(chunk), comment)
        }
        guard !unsure.contains(number) else { return }
        for chunk in durable[number] ?? [] { #expect(incoming.contains(chunk), comment) }
    }

    private func check() throws {
        for (number, sample) in Self.samples.enumerated() {
            let isStored = try store.has(sample.id)
            if complete.contains(number), !isStored {
                #expect(unsure.contains(number), comment)
                complete.remove(number)
            }
            if isStored {
                #expect(complete.contains(number) || unsure.contains(number), comment)
                #expect(try store.bytes(of: sample.id) == sample.bytes, comment)
                recordFound(number)
            } else if let incoming = try store.incoming(sample.id) {
                try check(incoming, number)
            } else if let chunks = durable[number], !chunks.isEmpty {
                #expect(unsure.contains(number), comment)
                durable[number] = nil
            }
        }
        let names = volume.snapshotFiles().keys
        #expect(names.count <= Self.samples.count, comment)
    }

    /// Records a file as complete that no call reported as complete.
    private func recordFound(_ number: Int) {
        guard !complete.contains(number) else { return }
        complete.insert(number)
        (durable[number], taken[number]) = (nil, nil)
        unsure.remove(number)
    }

    /// Checks that files without a reference are removed after the grace period.
    func end() throws {
        for _ in 0..<2 {
            _ = try store.collect(graceMilliseconds: Self.grace) { _ in [] }
            clock.advance(milliseconds: Self.grace)
        }
        _ = try store.collect(graceMilliseconds: Self.grace) { _ in [] }
        #expect(try store.ids == [], comment)
        #expect(volume.snapshotFiles().isEmpty, comment)
    }
}

@Suite struct AttachmentSimulationTests {
    @Test(arguments: UInt64(500)..<508)
    func `random faults lose no reported file and leave no wrong bytes`(
        _ seed: UInt64
    ) throws {
        let simulation = AttachmentSimulation(seed: seed)
        for _ in 0..<60 { try simulation.step() }
        try simulation.end()
        // The seed must produce additions, and process crashes or power cuts.
        let added = simulation.counts["add", default: 0] + simulation.counts["begin", default: 0]
        #expect(added > 0, "seed \(seed): \(simulation.counts)")
        #expect(simulation.counts["cut", default: 0] + simulation.counts["death", default: 0] > 2)
    }
}
