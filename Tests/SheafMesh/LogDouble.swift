import SheafBytes
import SheafHubLog
package import SheafReplication
import SheafTestSupport

/// A hub log without an engine, in the same process, whose faults are drawn from a seed.
///
/// A simulation takes one event after the other; nothing happens in between.
package final class LogDouble {
    /// How often, in 1,000 cases, an engine does what it should not.
    package struct Faults: Sendable {
        /// A message is not stored, and not acknowledged.
        package var losesMessage = 0
        /// A stored message is not acknowledged.
        package var losesAnswer = 0
        /// A message with a known id is stored once more.
        package var repeatsMessage = 0
        /// A message waits while later ones are stored.
        package var reorders = 0
        /// A broadcast does not reach a hub.
        package var losesBroadcast = 0
        /// An entry reaches a hub twice.
        package var repeatsEntry = 0
        /// A stored and acknowledged message is not in the log.
        package var losesEntry = 0
        /// A byte of a stored message is changed.
        package var damagesEntry = 0

        package init() {}

        /// All faults after which all hubs have all documents, without a replacement of the log.
        package static var transient: Faults {
            var faults = Faults()
            (faults.losesMessage, faults.losesAnswer, faults.repeatsMessage) = (100, 100, 100)
            (faults.reorders, faults.losesBroadcast, faults.repeatsEntry) = (200, 200, 50)
            return faults
        }

        /// Those faults, and entries that are lost after they were acknowledged.
        package static var lasting: Faults {
            var faults = Faults.transient
            (faults.losesEntry, faults.damagesEntry) = (50, 50)
            return faults
        }
    }

    private struct Follower: Hashable {
        let hub: Int
        let shard: HubShard
    }

    /// A message that an engine has received and not stored.
    private struct Appended {
        let hub: Int
        let id: HubMessageID
        let bytes: [UInt8]
        let shard: HubShard
    }

    private var random: SeededRandom
    package var faults: Faults
    /// Whether no message is stored, as while a majority of servers is away.
    package var isStopped = false { didSet { isQuiet = false } }
    /// The entries of each shard as most replicas have them; nil for lost ones.
    private var shards: [HubShard: [[UInt8]?]] = [:] { didSet { isQuiet = false } }
    /// The objects beside the log, which show what was trimmed.
    package let objects = ObjectDouble()
    /// The log to which the last message was appended.
    private var newest = HubLogID(low: 7, high: 8)
    /// The entries as a replica has them that has left the others, and the hubs that it serves.
    private var forked: [HubShard: [[UInt8]?]] = [:] { didSet { isQuiet = false } }
    private var forkedHubs: Set<Int> = [] { didSet { isQuiet = false } }
    private var stored: [HubMessageID: UInt64] = [:]
    private var appended: [Appended] = [] { didSet { isQuiet = false } }
    private var next: [Follower: UInt64] = [:] { didSet { isQuiet = false } }
    private var answers: [(hub: Int, event: HubEvent)] = [] { didSet { isQuiet = false } }
    /// Hubs that are cut off from the log.
    private var isolated: Set<Int> = [] { didSet { isQuiet = false } }
    /// Hubs to which no entries are delivered, although their messages are stored.
    package var undelivered: Set<Int> = [] { didSet { isQuiet = false } }
    /// Number of entries that are still delivered to a hub; without one, all are.
    package var deliveries: [Int: Int] = [:] { didSet { isQuiet = false } }
    /// Whether nothing has changed since a search for an event found none.
    ///
    /// Simulations search every few milliseconds of their time. Entries that are trimmed cause no
    /// event.
    private var isQuiet = false
    /// The ranges of entries that hubs have requested once more.
    private(set) package var rereads: [ClosedRange<UInt64>] = []
    /// Whether requested entries wait for `deliverReread`.
    package var holdsRereads = false
    private var held: [(hub: Int, event: HubEvent)] = []

    package init(seed: UInt64, _ faults: Faults = Faults()) {
        random = SeededRandom(seed: seed, "hub log")
        self.faults = faults
    }

    /// The entries of the log to which the last message was appended, by shard.
    package var entries: [UInt16: [[UInt8]?]] {
        let own = shards.filter { $0.key.log == newest }
        return Dictionary(own.map { ($0.key.number, $0.value) }) { first, _ in first }
    }

    /// Number of entries of all shards.
    package var count: Int { entries.values.reduce(0) { $0 + $1.count } }

    /// Returns the entries of a shard that a hub reads.
    private func entries(of shard: HubShard, for hub: Int) -> [[UInt8]?] {
        (forkedHubs.contains(hub) ? forked[shard] : shards[shard]) ?? []
    }

    private func happens(_ fault: Int) -> Bool { random.chance(fault, in: 1_000) }

    // MARK: Requests of hubs

    package func perform(_ effect: HubEffect, of hub: Int, among hubs: [Int]) {
        switch effect {
        case .append(let message, let log):
            guard !isolated.contains(hub), !happens(faults.losesMessage) else { return }
            let entry = Appended(
                hub: hub, id: message.id, bytes: message.bytes,
                shard: HubShard(message.id.shard, of: log))
            let isEarly = !appended.isEmpty && happens(faults.reorders)
            appended.insert(entry, at: isEarly ? random.below(appended.count) : appended.count)
        case .follow(let shard, let entry): next[Follower(hub: hub, shard: shard)] = entry
        case .reread(let range, let shard):
            guard !isolated.contains(hub) else { return }
            let known = entries(of: shard, for: hub)
            let first = objects.trimmed(shard)
            let again = range.clamped(to: 1...UInt64(max(known.count, 1))).compactMap { number in
                number >= first && number <= UInt64(known.count)
                    ? known[Int(number) - 1].map { HubLogEntry(number, $0) } : nil
            }
            rereads.append(range)
            if holdsRereads {
                for entry in again { held.append((hub, .received([entry], shard: shard))) }
            } else if !again.isEmpty {
                answers.append((hub, .received(again, shard: shard)))
            }
        case .consumed: break
        case .unfollow(let shard): next[Follower(hub: hub, shard: shard)] = nil
        case .broadcast(let bytes):
            guard !isolated.contains(hub) else { return }
            for other in hubs where other != hub && !isolated.contains(other) {
                guard !happens(faults.losesBroadcast) else { continue }
                answers.append((other, .broadcast(bytes)))
            }
        }
    }

    /// Ends the connection of a hub that has stopped.
    package func disconnect(_ hub: Int) {
        next = next.filter { $0.key.hub != hub }
        answers.removeAll { $0.hub == hub }
        // Its appended messages may be stored all the same.
    }

    /// Delivers the next entry that was requested once more.
    package func deliverReread() {
        if !held.isEmpty { answers.append(held.removeFirst()) }
    }

    package func isolate(_ hub: Int) { isolated.insert(hub) }
    package func rejoin(_ hub: Int) { isolated.remove(hub) }

    // MARK: Lasting faults

    /// Appends a message of another author.
    package func insert(_ message: [UInt8], into shard: UInt16) {
        shards[HubShard(shard, of: newest), default: []].append(message)
    }

    /// Loses the last entries of a shard, whose numbers later entries get.
    package func truncate(_ shard: UInt16, by count: Int) {
        let shard = HubShard(shard, of: newest)
        shards[shard] = shards[shard]?.dropLast(count)
    }

    /// Lets a replica leave the others, and acknowledge the messages of some hubs alone.
    package func fork(for hubs: Set<Int>) { (forked, forkedHubs) = (shards, hubs) }

    /// Forgets the ids of stored messages, so that repeated ones are stored once more.
    package func forgetIDs() { stored = [:] }

    // MARK: Events

    /// Returns the next event of a hub; nil if there is none.
    package func nextEvent() -> (hub: Int, event: HubEvent)? {
        guard !isQuiet else { return nil }
        if !isStopped { store() }
        if let index = answers.firstIndex(where: { !isolated.contains($0.hub) }) {
            return answers.remove(at: index)
        }
        let followers = next.keys
            .filter { !isolated.contains($0.hub) && !undelivered.contains($0.hub) }
            .filter { deliveries[$0.hub] != 0 }
            .sorted { ($0.hub, $0.shard.number) < ($1.hub, $1.shard.number) }
        for follower in followers {
            let shard = entries(of: follower.shard, for: follower.hub)
            let first = objects.trimmed(follower.shard)
            while let asked = next[follower], max(asked, first) <= UInt64(shard.count) {
                let entry = max(asked, first)
                next[follower] = entry + 1
                guard let bytes = shard[Int(entry) - 1] else { continue }
                if happens(faults.repeatsEntry) { next[follower] = entry }
                deliveries[follower.hub]? -= 1
                let delivered = HubLogEntry(entry, bytes)
                return (follower.hub, .received([delivered], shard: follower.shard))
            }
        }
        isQuiet = isStopped || appended.isEmpty
        return nil
    }

    private func store() {
        guard !appended.isEmpty else { return }
        let message = appended.removeFirst()
        let isKnown = stored[message.id] != nil
        if !isKnown || happens(faults.repeatsMessage) {
            let shard = message.shard
            newest = shard.log
            var bytes: [UInt8]? = message.bytes
            if happens(faults.losesEntry) { bytes = nil }
            if happens(faults.damagesEntry) {
                bytes?[random.below(message.bytes.count)] ^= 1 << UInt8(random.below(8))
            }
            if forkedHubs.contains(message.hub) {
                forked[shard, default: []].append(bytes)
            } else {
                shards[shard, default: []].append(bytes)
            }
            let count = entries(of: shard, for: message.hub).count
            stored[message.id] = stored[message.id] ?? UInt64(count)
        }
        guard !happens(faults.losesAnswer), let entry = stored[message.id] else { return }
        answers.append((message.hub, .stored(message.id, entry: entry)))
    }
}
