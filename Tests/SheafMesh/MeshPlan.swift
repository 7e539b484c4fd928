import SheafReplication
import SheafSync
import SheafTestSupport
import SheafTransport

/// The peers, connections and faults of a mesh.
///
/// Most faults occur in some meshes only, so each one is tested with and without the other ones.
struct MeshPlan {
    /// The initial properties of a peer.
    struct Member {
        var skewMilliseconds = 0
        /// The rights of the peer at all other peers; nil: unlimited.
        var rights: PeerRights?
        /// Whether the frames of the peer are mangled.
        var isStranger = false
        /// Whether the peer has version 3 of the protocol.
        var isOlder = false
        /// Whether the peer sometimes subscribes to all collections.
        var subscribesToAll = false
    }

    private(set) var members: [Member] = []
    /// The pairs of peers that can be connected.
    private(set) var pairs: [(Int, Int)] = []
    /// Whether clocks are wrong by up to an hour, or by years, instead of a few minutes.
    let hasWrongClocks: Bool
    /// Whether one direction of a connection is sometimes delayed or lossy.
    let partsOneWay: Bool
    /// Maximum number of differing documents in one request.
    let wanted: Int
    /// Units of evaluation in one turn of a peer.
    let evaluated: Int
    /// Whether long batches are split, so that a transaction may become visible in parts.
    let cutsSteps: Bool
    /// Whether all peers subscribe to everything from the beginning.
    ///
    /// No final resubscription makes the peers reconcile, so the changes sent until then must be
    /// sufficient.
    let staysSubscribed: Bool

    init(seed: UInt64, sharesFiles: Bool) {
        var random = SeededRandom(seed: seed, "plan")
        var subscribing = SeededRandom(seed: seed, "subscribing")
        staysSubscribed = subscribing.chance(1, in: 3)
        // In some meshes, an evaluation turn ends after a few documents.
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
        // A peer with rights may fetch only files that a document references, and no document does.
        if !sharesFiles, random.chance(3, in: 4) { limitSome(&random) }
        if random.chance(1, in: 3) { addStranger(&random) }
        var versions = SeededRandom(seed: seed, "versions")
        let isMixed = versions.chance(1, in: 2)
        for number in members.indices {
            members[number].isOlder = isMixed && versions.chance(1, in: 2)
            members[number].subscribesToAll = versions.chance(1, in: 2)
        }
    }

    private mutating func addMember(_ random: inout SeededRandom) {
        var member = Member()
        // Most clocks are correct within half a second.
        member.skewMilliseconds =
            random.chance(1, in: 4) ? random.below(240_000) : random.below(500)
        if hasWrongClocks, random.chance(1, in: 2) {
            // Some clocks are wrong by years, so only a repair makes their documents acceptable.
            let most = random.chance(1, in: 2) ? 3_600_000 : 126_230_400_000
            member.skewMilliseconds = random.below(2 * most) - most
        }
        members.append(member)
    }

    /// Whether transactions become visible atomically, and not in parts.
    var keepsGroups: Bool { !cutsSteps && wanted == SyncLimits.wantedDocuments }

    /// Limits so low that most batches have several parts, and are spilled to disk.
    var limits: ReplicatorLimits {
        var limits = ReplicatorLimits()
        limits.part = 300
        limits.inMemory = 1_000
        limits.wanted = wanted
        limits.evaluated = evaluated
        if cutsSteps { limits.step = 900 }
        return limits
    }

    /// Draws a tree, so that all peers are connected, and some additional pairs.
    private mutating func drawPairs(_ count: Int, _ random: inout SeededRandom) {
        for number in 1..<count { pairs.append((random.below(number), number)) }
        for left in 0..<count {
            for right in left + 1..<max(count, left + 1) where random.chance(1, in: 4) {
                if !pairs.contains(where: { $0 == (left, right) }) { pairs.append((left, right)) }
            }
        }
    }

    /// Limits the rights of some peers that relay for no other peer.
    private mutating func limitSome(_ random: inout SeededRandom) {
        let inner = Set(pairs.prefix(members.count - 1).map(\.0))
        for number in members.indices where !inner.contains(number) && random.chance(2, in: 3) {
            members[number].rights = Self.rights(of: number, &random)
        }
    }

    /// Returns rights to all groups, to all, red, one or no cars, and to some other documents.
    private static func rights(of number: Int, _ random: inout SeededRandom) -> PeerRights {
        var read = [
            "groups": "true", "papers": "level < 5",
            "secrets": "owner = 'all' OR owner = 'me\(number)'",
        ]
        var write = [
            "groups": "true", "secrets": "owner = 'me\(number)'", "titles": "owner = 'me\(number)'",
        ]
        // Only some peers may read titles of other owners, and so learn why a write is refused.
        read["titles"] = random.chance(1, in: 2) ? "true" : "owner = 'me\(number)'"
        switch random.below(5) {
        case 0: read["cars"] = "color = 'red'"
        case 1: break
        case 2: (read["cars"], write["cars"]) = ("_id = 'c3'", "_id = 'c3'")
        default: (read["cars"], write["cars"]) = ("true", "true")
        }
        return PeerRights(read: read, write: write)
    }

    /// Adds a peer that is admitted with limited rights, and sends false frames.
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
