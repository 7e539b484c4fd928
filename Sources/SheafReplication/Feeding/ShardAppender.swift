package import SheafDocument
package import SheafHubLog
package import SheafStorage

/// The messages that this hub appends to a shard, until they are stored.
///
/// A message is stored when the engine has acknowledged it and this hub has read it, or when all
/// messages of a group are stored that replaces it.
package struct ShardAppender {
    /// A message that is not known to be stored, or follows one.
    package struct Pending {
        let message: HubMessageChain.Encoded
        /// The commit before those whose documents its group has; nil for other messages.
        let base: CommitID?
        /// Whether it is the last message of its group.
        let endsGroup: Bool
        /// When it was last appended, and first.
        var appendedAt: UInt64
        let builtAt: UInt64
        var isAcknowledged = false
        /// The entry at which this hub has read it, or the last one of those that replace it.
        var entry: UInt64?

        var isStored: Bool { isAcknowledged && entry != nil }
    }

    /// The documents that some commits of the store have changed.
    package struct Documents: Equatable {
        let commits: ClosedRange<CommitID>
        /// The first and the last of them that are in the group; nil if all are.
        let addresses: ClosedRange<DocumentAddress>?
        /// The documents themselves, if the commits show only that they may have changed them.
        var listed: ArraySlice<HubFeed.Changed>?

        package static func == (lhs: Documents, rhs: Documents) -> Bool {
            lhs.commits == rhs.commits && lhs.addresses == rhs.addresses
        }
    }

    /// A group, or a mark, that was appended.
    struct Sent {
        let sequences: ClosedRange<UInt64>
        let documents: [Documents]
        /// The sequences of the lost messages that it replaces; nil for other groups.
        let replaced: ClosedRange<UInt64>?
        let appendedAt: UInt64
    }

    /// Maximum number of groups whose documents can be appended again.
    private static let maximumSent = 4_096
    /// Maximum number of ends of groups whose entries are kept.
    private static let maximumEnds = 8_192

    package private(set) var chain: HubMessageChain
    /// Messages from the first one on that is not stored, in the order of their sequences.
    package private(set) var pending: [Pending] = []
    package private(set) var pendingLength = 0
    /// The groups and marks that were appended last.
    private(set) var sent: [Sent] = []
    /// The last sequences of stored groups, and the highest entries up to these.
    private var ends: [(sequence: UInt64, entry: UInt64)] = []
    private var highestEntry: UInt64 = 0
    /// The commit up to which groups of this shard have the documents of the store.
    private var commit: CommitID

    package init(
        _ number: UInt16, of log: HubLogID, _ author: HubAuthor, after commit: CommitID
    ) {
        chain = HubMessageChain(log: log, shard: number, author: author)
        self.commit = commit
    }

    /// The commit before the first one whose documents wait to be stored; nil if none do.
    ///
    /// The documents of a collection that has become shared follow those of later commits.
    package var unstoredBase: CommitID? { pending.lazy.compactMap(\.base).min() }

    /// Whether another group may be appended before the others are stored.
    package func hasRoom(_ limits: HubFeedLimits) -> Bool {
        pending.count < limits.messagesInFlight && pendingLength < limits.bytesInFlight
    }

    /// Whether a group may be appended that replaces lost messages.
    var hasRoomForReplacement: Bool {
        pending.count + HubLimits.groupMessages < HubMessageChain.maximumUnconfirmed / 2
    }

    /// Returns the highest entry of the groups up to the one that ends with a message; nil unless
    /// all of them are stored.
    package func entry(throughSequence sequence: UInt64) -> UInt64? {
        guard sequence <= chain.confirmed else { return nil }
        return ends.first { $0.sequence >= sequence }?.entry
    }

    /// Forgets the entries of groups up to one that is hub-durable.
    package mutating func forgetEnds(through sequence: UInt64) {
        ends.removeFirst(ends.prefix { $0.sequence <= sequence }.count)
    }

    // MARK: Appending

    /// Creates the messages of a group, and keeps them until they are stored.
    ///
    /// `addresses` are those of its first and last document, if other groups have the rest of the
    /// documents of its commits.
    package mutating func append(
        _ payload: [UInt8], _ extent: HubMessage.Extent,
        _ addresses: ClosedRange<DocumentAddress>?, _ progress: ShardProgress, at now: UInt64
    ) -> [HubMessageChain.Encoded] {
        commit = extent.commit
        let documents = Documents(
            commits: extent.base + 1...extent.commit, addresses: addresses)
        let messages = chain.messages(of: payload, extent, progress)
        keep(messages, base: extent.base, [documents], replacing: nil, at: now)
        return messages
    }

    /// Creates the messages of a group with documents that the log lacks, which commits up to one
    /// may have changed at any time; the first of them, after `base`, wait until it is stored.
    mutating func appendMissing(
        _ payload: [UInt8], _ base: CommitID, through commit: CommitID,
        _ addresses: ClosedRange<DocumentAddress>?, _ listed: ArraySlice<HubFeed.Changed>,
        _ progress: ShardProgress, at now: UInt64
    ) -> [HubMessageChain.Encoded] {
        let documents = Documents(
            commits: 1...max(1, commit), addresses: addresses, listed: listed)
        let extent = HubMessage.Extent(base: 0, commit: 0)
        let messages = chain.messages(of: payload, extent, replaces: true, progress)
        keep(messages, base: base, [documents], replacing: nil, at: now)
        return messages
    }

    /// Creates the messages of a group that replaces lost messages.
    package mutating func replace(
        _ sequences: ClosedRange<UInt64>, by payload: [UInt8], _ documents: [Documents],
        _ progress: ShardProgress, at now: UInt64
    ) -> [HubMessageChain.Encoded] {
        let extent = HubMessage.Extent(base: sequences.lowerBound, commit: sequences.upperBound)
        let messages = chain.messages(of: payload, extent, replaces: true, progress)
        keep(messages, base: nil, documents, replacing: sequences, at: now)
        return messages
    }

    /// Creates a mark, which shows where the log ends, and keeps it until it is stored.
    ///
    /// With `base`, it ends what waits to be hub-durable after that commit.
    package mutating func mark(
        _ progress: ShardProgress, base: CommitID? = nil, at now: UInt64
    ) -> HubMessageChain.Encoded {
        let message = chain.mark(progress, commit: commit)
        keep([message], base: base, [], replacing: nil, at: now)
        return message
    }

    private mutating func keep(
        _ messages: [HubMessageChain.Encoded], base: CommitID?, _ documents: [Documents],
        replacing replaced: ClosedRange<UInt64>?, at now: UInt64
    ) {
        guard let first = messages.first?.id.sequence else { return }
        for message in messages {
            pending.append(
                Pending(
                    message: message, base: base,
                    endsGroup: message.id.sequence == chain.sequence, appendedAt: now,
                    builtAt: now))
            pendingLength += message.bytes.count
        }
        sent.append(
            Sent(
                sequences: first...chain.sequence, documents: documents, replaced: replaced,
                appendedAt: now))
        if sent.count > Self.maximumSent { sent.removeFirst() }
    }

    /// Returns the messages that were not stored in time, to append them again.
    package mutating func overdue(
        at now: UInt64, _ limits: HubFeedLimits
    ) -> [HubMessageChain.Encoded] {
        var messages: [HubMessageChain.Encoded] = []
        for index in pending.indices where !pending[index].isStored {
            guard now >= pending[index].appendedAt + limits.answerNanoseconds else { continue }
            pending[index].appendedAt = now
            messages.append(pending[index].message)
        }
        return messages
    }

    /// Returns messages that the engine has acknowledged, and not delivered with later ones.
    ///
    /// An engine that knows their ids would not store them again.
    package func lost(at now: UInt64, _ limits: HubFeedLimits) -> [ClosedRange<UInt64>] {
        guard let last = pending.lastIndex(where: { $0.entry != nil }) else { return [] }
        return pending[..<last].compactMap { message in
            guard message.isAcknowledged, message.entry == nil,
                now >= message.builtAt + limits.needNanoseconds
            else { return nil }
            return message.message.id.sequence...message.message.id.sequence
        }
    }

    /// Returns the first time after another one at which messages may count as lost, or may be
    /// replaced again; nil if the engine has lost none.
    package func nextLoss(after time: UInt64, _ limits: HubFeedLimits) -> UInt64? {
        guard let last = pending.lastIndex(where: { $0.entry != nil }),
            pending[..<last].contains(where: { $0.isAcknowledged && $0.entry == nil })
        else { return nil }
        // The messages that replace them follow them, also if they are lost, too.
        return pending.lazy.map { $0.builtAt + limits.needNanoseconds }.filter { $0 > time }.min()
    }

    /// When a message was built that waits; nil for another one.
    package func builtAt(_ id: HubMessageID) -> UInt64? {
        index(of: id.sequence).flatMap { pending[$0].message.id == id ? pending[$0].builtAt : nil }
    }

    /// When the last message was built; nil before the first one.
    package var lastBuiltAt: UInt64? { sent.last?.appendedAt }

    /// Whether a message waits that this hub has not read.
    package func isUnread(_ id: HubMessageID) -> Bool {
        index(of: id.sequence).map { pending[$0].message.id == id && pending[$0].entry == nil }
            ?? false
    }

    // MARK: Storing

    /// Records that the engine has stored a message; returns the ranges that it replaces.
    package mutating func acknowledge(_ id: HubMessageID) -> [ClosedRange<UInt64>] {
        change(id) { $0.isAcknowledged = true }
    }

    /// Records that this hub has read its own message; returns the ranges that it replaces.
    package mutating func recordRead(
        _ id: HubMessageID, at entry: UInt64
    ) -> [ClosedRange<UInt64>] {
        change(id) { $0.entry = entry }
    }

    private mutating func change(
        _ id: HubMessageID, _ body: (inout Pending) -> Void
    ) -> [ClosedRange<UInt64>] {
        // A copy of this process could append other bytes with the sequence.
        guard let index = index(of: id.sequence), pending[index].message.id == id,
            !pending[index].isStored
        else { return [] }
        body(&pending[index])
        guard pending[index].isStored else { return [] }
        chain.confirm(id.sequence...id.sequence)
        let replaced = replaceStored(by: id.sequence...id.sequence)
        removeStored()
        return replaced
    }

    private func index(of sequence: UInt64) -> Int? {
        guard let first = pending.first?.message.id.sequence, sequence >= first,
            sequence - first < UInt64(pending.count)
        else { return nil }
        return Int(sequence - first)
    }

    /// Counts as stored the messages that groups replace which are complete with messages that are
    /// stored now.
    private mutating func replaceStored(
        by sequences: ClosedRange<UInt64>
    ) -> [ClosedRange<UInt64>] {
        var found: [ClosedRange<UInt64>] = []
        var stored = [sequences]
        while let range = stored.popLast() {
            for group in sent where group.sequences.overlaps(range) {
                guard let replaced = group.replaced else { continue }
                let messages = group.sequences.compactMap { index(of: $0) }.map { pending[$0] }
                guard messages.allSatisfy(\.isStored) else { continue }
                let entry = messages.compactMap(\.entry).max() ?? highestEntry
                for index in replaced.compactMap({ index(of: $0) }) {
                    pending[index].isAcknowledged = true
                    pending[index].entry = max(pending[index].entry ?? 0, entry)
                }
                chain.confirm(replaced)
                found.append(replaced)
                stored.append(replaced)
            }
        }
        return found
    }

    /// Removes the first messages as far as they are stored.
    private mutating func removeStored() {
        let count = pending.prefix(while: \.isStored).count
        for done in pending[..<count] {
            pendingLength -= done.message.bytes.count
            highestEntry = max(highestEntry, done.entry ?? 0)
            guard done.endsGroup, done.base != nil else { continue }
            ends.append((done.message.id.sequence, highestEntry))
        }
        pending.removeFirst(count)
        guard ends.count > Self.maximumEnds else { return }
        // A later end has the entries of the earlier ones.
        ends = ends.indices.filter { $0 % 2 == 1 || $0 == ends.count - 1 }.map { ends[$0] }
    }
}
