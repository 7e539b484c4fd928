import SheafDocument
import SheafHubLog
import SheafTestSupport
import Testing

/// Readers of shards with random faults, compared with a naive one.
struct ShardReaderModelTests {
    private static let steps = 400

    @Test func `a reader without faults applies each group once and reports nothing`() {
        let seed = UInt64.random(in: 0..<1_000_000_000)
        print("shards without faults, seed \(seed)")
        for number in 0..<10 {
            var scene = ShardScene(seed: seed + UInt64(number), .faultless)
            scene.run(steps: Self.steps)
            check(scene, seed + UInt64(number))
            #expect(scene.faults.isEmpty && scene.incidents.isEmpty && scene.needCount == 0)
            #expect(scene.finalPosition.entry == scene.reader.read)
        }
    }

    @Test func `a reader finds each injected fault, and no other`() {
        let seed = UInt64.random(in: 0..<1_000_000_000)
        print("shards with faults, seed \(seed)")
        for number in 0..<100 {
            let seed = seed + UInt64(number)
            var random = SeededRandom(seed: seed, "shard plan")
            let plan = ShardPlan(&random)
            var scene = ShardScene(seed: seed, plan)
            scene.run(steps: Self.steps)
            check(scene, seed)
            checkCounts(scene, seed)
        }
    }

    private func check(_ scene: ShardScene, _ seed: UInt64) {
        let model = scene.model()
        #expect(scene.violation == nil, "seed \(seed)")
        #expect(scene.reader.digest == model.digest, "seed \(seed)")
        let differing = zip(scene.results, model.results).first { $0 != $1 }
        #expect(differing == nil, "seed \(seed)")
        #expect(scene.results.count == model.results.count, "seed \(seed)")
        // A reader that continues from an earlier position applies all groups after it.
        guard let saved = scene.saved, let resumed = scene.resumed() else { return }
        #expect(resumed.digest == scene.reader.digest, "seed \(seed)")
        let again = Set(resumed.results)
        let missing = scene.results.dropFirst(saved.results).first { result in
            guard case .applied = result else { return false }
            return !again.contains(result)
        }
        #expect(missing == nil, "seed \(seed)")
        let known = again.union(scene.results.prefix(saved.results))
        #expect(
            scene.results.allSatisfy { result in
                guard case .applied = result else { return true }
                return known.contains(result)
            }, "seed \(seed)")
    }

    /// Compares the faults of deliveries, and incidents, with the injected ones.
    private func checkCounts(_ scene: ShardScene, _ seed: UInt64) {
        var (repeated, truncations, gaps, late) = (0, 0, 0, 0)
        for fault in scene.faults {
            switch fault {
            case .repeatedEntry: repeated += 1
            case .truncation: truncations += 1
            case .gap: gaps += 1
            case .lateEntry: late += 1
            case .fork, .malformedGroup, .lostMessages, .newerVersion, .staleEngine:
                Issue.record("\(fault) was not injected, seed \(seed)")
            case .unfinishedGroup(let author, _), .unstoredMessages(let author, _):
                #expect(scene.killed.contains(author), "\(fault), seed \(seed)")
            case .repetition, .early, .damage, .otherDigest, .lostEntries: break
            }
        }
        #expect(repeated == scene.redeliveredCount, "seed \(seed)")
        #expect(late == scene.lateCount, "seed \(seed)")
        #expect(truncations == scene.reusedCount, "seed \(seed)")
        #expect((gaps > 0) == scene.hasSkipped, "seed \(seed)")
        #expect(scene.lostEntries.isSubset(of: scene.unavailable), "seed \(seed)")
        #expect(scene.incidents.contains(.truncation) == (scene.reusedCount > 0), "seed \(seed)")
        let hasOther = scene.results.contains { result in
            if case .otherDigest = result { true } else { false }
        }
        #expect(scene.incidents.contains(.fork) == hasOther, "seed \(seed)")
        // Each author was asked for what it lost, and has replaced it within 60 seconds. A message
        // that was only late can be requested, too.
        if !scene.hasMissingMessages, !scene.isTruncated, !scene.hasLateMessages {
            #expect(scene.needCount == 0, "seed \(seed)")
        }
        let model = scene.model()
        let isLost = scene.killed.contains { model.isMissingConfirmed($0) }
        #expect(scene.reader.incidents.contains { $0.kind == .loss } == isLost, "seed \(seed)")
        if !isLost, !scene.hasLateMessages {
            #expect(!scene.incidents.contains(.loss), "seed \(seed)")
        }
        #expect(!scene.incidents.contains(.staleEngine), "seed \(seed)")
        guard !scene.isTruncated, !isLost else { return }
        let position = scene.finalPosition
        #expect(position.entry == scene.reader.read, "seed \(seed)")
    }

    @Test func `a reader stays within low limits, and applies no group twice`() {
        let seed = UInt64.random(in: 0..<1_000_000_000)
        print("shards with low limits, seed \(seed)")
        var limits = ShardReader.Limits()
        (limits.digests, limits.authors, limits.laterMessages) = (16, 4, 3)
        (limits.trackedMessages, limits.stagedLength, limits.waitingLength) = (8, 60, 1_000)
        for number in 0..<50 {
            let seed = seed + UInt64(number)
            var random = SeededRandom(seed: seed, "shard plan")
            var plan = ShardPlan(&random)
            (plan.truncationStep, plan.redelivered) = (nil, 0)
            var scene = ShardScene(seed: seed, plan, limits: limits)
            scene.run(steps: Self.steps)
            #expect(scene.violation == nil, "seed \(seed)")
            #expect(scene.reader.digest == scene.model().digest, "seed \(seed)")
            var applied: Set<ReadResult> = []
            let repeated = scene.results.first { result in
                guard case .applied = result else { return false }
                return !applied.insert(result).inserted
            }
            #expect(repeated == nil, "seed \(seed)")
        }
    }
}
