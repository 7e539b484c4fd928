import SheafDocument
import SheafTestSupport

/// The faults of a scene; each one is drawn with `1 / rate`, or never if it is 0.
struct ShardPlan {
    var lost = 0, damaged = 0, repeated = 0, reordered = 0
    var skipped = 0, redelivered = 0, unavailable = 0
    var rereadDelay: UInt64 = 0
    /// The step at which an author begins to report other digests.
    var forkStep: Int?
    /// The step at which the engine drops the last entries.
    var truncationStep: Int?
    /// The step at which an author is killed with messages in flight, of which some are stored.
    var killStep: Int?

    /// Draws a plan: most have few kinds of faults.
    init(_ random: inout SeededRandom) {
        func rate(_ random: inout SeededRandom, _ most: Int) -> Int {
            random.chance(1, in: 3) ? 3 + random.below(most) : 0
        }
        lost = rate(&random, 30)
        damaged = rate(&random, 30)
        repeated = rate(&random, 20)
        reordered = rate(&random, 10)
        skipped = rate(&random, 20)
        redelivered = rate(&random, 20)
        unavailable = random.chance(1, in: 6) ? 20 + random.below(40) : 0
        rereadDelay = random.chance(1, in: 2) ? UInt64(random.below(3_000)) * 1_000_000 : 0
        if random.chance(1, in: 8) { forkStep = random.below(300) }
        if random.chance(1, in: 8) { truncationStep = random.below(300) }
        if random.chance(1, in: 3) { killStep = 20 + random.below(300) }
    }

    /// A plan without faults.
    static var faultless: ShardPlan { ShardPlan() }

    private init() {}
}
