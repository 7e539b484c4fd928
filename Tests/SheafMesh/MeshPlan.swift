import Sheaf
import SheafSync
import SheafTestSupport

/// What a mesh is made of: most faults are on in some meshes only, so that each is met with and without
/// the others.
struct MeshPlan {
    /// One peer, as it is at the beginning.
    struct Member {
        var skewMilliseconds = 0
        /// What it may read and write at the others; nil: everything.
        var rights: PeerRights?
        /// Whether what it says is not what it should say.
        var isStranger = false
    }

    private(set) var members: [Member] = []
    /// Who can be connected with whom.
    private(set) var pairs: [(Int, Int)] = []
    /// Clocks are up to an hour ahead or behind, where others are a few minutes ahead at most.
    let hasWrongClocks: Bool
    /// Now and then only one of two directions stands still.
    let partsOneWay: Bool
    /// How many documents that differ are asked for at once.
    let wanted: Int
    /// Units of evaluation in one turn of a peer's loop.
    let evaluated: Int
    /// Long steps are cut, so that transactions may show in parts.
    let cutsSteps: Bool
    /// All subscribe to everything from the beginning: in the end nobody compares because of what is wanted,
    /// so that what was told along the way has to be enough.
    let staysSubscribed: Bool

    init(seed: UInt64, sharesFiles: Bool) {
        var random = SeededRandom(seed: seed, "plan")
        var subscribing = SeededRandom(seed: seed, "subscribing")
        staysSubscribed = subscribing.chance(1, in: 3)
        // Some pause after each document.
        evaluated =
            subscribing.chance(1, in: 3)
            ? 51 + subscribing.below(300) : SyncLimits.evaluationUnitsPerTurn
        hasWrongClocks = random.chance(1, in: 4)
        partsOneWay = random.chance(1, in: 2)
        cutsSteps = random.chance(1, in: 6)
        wanted = random.chance(1, in: 6) ? 10 + random.below(8) : SyncLimits.wantedDocuments
        let count = 2 + random.below(random.chance(1, in: 3) ? 8 : 3)
        for _ in 0..<count { addMember(&random) }
        drawPairs(count, &random)
        // Those with rights may have only files that a document names, and none does here.
        if !sharesFiles, random.chance(3, in: 4) { limitSome(&random) }
        if random.chance(1, in: 3) { addStranger(&random) }
    }

    private mutating func addMember(_ random: inout SeededRandom) {
        var member = Member()
        // The clocks of most devices are right, more or less.
        member.skewMilliseconds =
            random.chance(1, in: 4) ? random.below(240_000) : random.below(500)
        if hasWrongClocks, random.chance(1, in: 2) {
            // Some are wrong by years, so only a repair helps what was written with them.
            let most = random.chance(1, in: 2) ? 3_600_000 : 126_230_400_000
            member.skewMilliseconds = random.below(2 * most) - most
        }
        members.append(member)
    }

    /// Whether transactions show all at once, which is not so where they are told in parts.
    var keepsGroups: Bool { !cutsSteps && wanted == SyncLimits.wantedDocuments }

    /// Most steps go through several parts, and what came of them through files.
    var lengths: SyncHost.Lengths {
        var lengths = SyncHost.Lengths()
        lengths.part = 300
        lengths.inMemory = 1_000
        lengths.wanted = wanted
        lengths.evaluated = evaluated
        if cutsSteps { lengths.step = 900 }
        return lengths
    }

    /// A tree, so that everybody can be reached, and some more.
    private mutating func drawPairs(_ count: Int, _ random: inout SeededRandom) {
        for number in 1..<count { pairs.append((random.below(number), number)) }
        for left in 0..<count {
            for right in left + 1..<max(count, left + 1) where random.chance(1, in: 4) {
                if !pairs.contains(where: { $0 == (left, right) }) { pairs.append((left, right)) }
            }
        }
    }

    /// Gives rights to some of those on whom no other depends.
    private mutating func limitSome(_ random: inout SeededRandom) {
        let inner = Set(pairs.prefix(members.count - 1).map(\.0))
        for number in members.indices where !inner.contains(number) && random.chance(2, in: 3) {
            members[number].rights = Self.rights(of: number, &random)
        }
    }

    /// Groups are read and written as a whole, cars in some way or not at all, and of the rest what is
    /// not for others.
    private static func rights(of number: Int, _ random: inout SeededRandom) -> PeerRights {
        var read = [
            "groups": "true", "papers": "level < 5",
            "secrets": "owner = 'all' OR owner = 'me\(number)'",
        ]
        var write = [
            "groups": "true", "secrets": "owner = 'me\(number)'", "titles": "owner = 'me\(number)'",
        ]
        // Some hear why they may not write a title any more, and others do not.
        read["titles"] = random.chance(1, in: 2) ? "true" : "owner = 'me\(number)'"
        switch random.below(5) {
        case 0: read["cars"] = "color = 'red'"
        case 1: break
        case 2: (read["cars"], write["cars"]) = ("_id = 'c3'", "_id = 'c3'")
        default: (read["cars"], write["cars"]) = ("true", "true")
        }
        return PeerRights(read: read, write: write)
    }

    /// Somebody who is let in, and tells anything.
    private mutating func addStranger(_ random: inout SeededRandom) {
        let number = members.count
        var member = Member(isStranger: true)
        member.skewMilliseconds = random.below(500)
        member.rights = PeerRights(
            read: [
                "cars": "true", "groups": "true", "graffiti": "true", "papers": "level < 5",
                "secrets": "owner = 'all'",
            ], write: ["graffiti": "true"])
        for other in members.indices where other == 0 || random.chance(1, in: 3) {
            pairs.append((other, number))
        }
        members.append(member)
    }
}
