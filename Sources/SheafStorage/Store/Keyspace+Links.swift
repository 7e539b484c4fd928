import SheafBytes
import Synchronization

/// Keys that lead to operations of others; nothing is counted with them.
extension Keyspace {
    /// So many links of a range are looked up at once.
    private static let unlinkCount = 1_024

    /// Takes away what `links` says.
    mutating func unlink(_ links: LinkChanges) {
        for range in links.removedRanges { unlink(range) }
        guard !links.removed.isEmpty else { return }
        links.bytes.withUnsafeBytes { bytes in
            for key in links.removed { tree.remove(bytes.slice(key)) }
        }
    }

    /// Lets keys lead to operations that are in the log.
    mutating func linkPlaces(_ links: LinkChanges) {
        guard !links.toPlaces.isEmpty else { return }
        links.bytes.withUnsafeBytes { bytes in
            for (key, place) in links.toPlaces { tree.put(bytes.slice(key), place.value) }
        }
    }

    private mutating func unlink(_ range: KeyRange) {
        var keys: [[UInt8]] = []
        repeat {
            keys.removeAll(keepingCapacity: true)
            tree.forEach(in: range) { key, _ in
                keys.append(Array(key))
                return keys.count < Self.unlinkCount
            }
            for key in keys { key.withUnsafeBytes { _ = tree.remove($0) } }
        } while !keys.isEmpty
    }
}

extension EngineState {
    /// Lets keys lead to the operations of a batch that lie in `record`; returns which link is next.
    mutating func link(
        _ links: LinkChanges, from first: Int, to operations: Range<Int>,
        in record: UnsafeMutableRawBufferPointer
    ) -> Int {
        var next = first
        let record = UnsafeRawBufferPointer(record)
        links.bytes.withUnsafeBytes { bytes in
            while next < links.toOperations.count,
                links.toOperations[next].operation < operations.upperBound
            {
                let link = links.toOperations[next]
                let offset = Record.headerLength + link.operation - operations.lowerBound
                keyspace.tree.put(
                    bytes.slice(link.key), place(ofOperationAt: offset, in: record).value)
                next += 1
            }
        }
        return next
    }

    /// The place of an operation of the record that begins at the tail.
    private func place(ofOperationAt offset: Int, in record: UnsafeRawBufferPointer) -> Place {
        let keyLength: UInt16 = record.loadInteger(offset + Operation.Layout.keyLength)
        let payloadLength: UInt32 = record.loadInteger(offset + Operation.Layout.payloadLength)
        return Place(
            position: LogPosition(segment: tail.segment, offset: tail.offset + offset),
            length: Operation.headerLength + Int(keyLength) + Int(payloadLength),
            isExtension: record[offset] == Operation.Kind.extend.rawValue)
    }
}

extension StoreEngine {
    /// Puts the links of `snapshot` right without a commit; false where there are newer commits, or
    /// something waits for the disk.
    ///
    /// Who has taken `snapshot` before keeps the links that it had.
    package func mendLinks(of snapshot: LogSnapshot, _ changes: LinkChanges) -> Bool {
        precondition(changes.toOperations.isEmpty, "There is no batch to lead to.")
        return state.withLock { state in
            // While a flush is under way it has the tree that will be published.
            guard state.lastCommit == snapshot.commit, state.published.commit == snapshot.commit,
                state.pending.isEmpty, state.spare != nil
            else { return false }
            state.keyspace.unlink(changes)
            state.keyspace.linkPlaces(changes)
            state.linked = LinkMark(commit: state.lastCommit, end: state.end)
            state.grownLength += changes.lengthToPlaces
            state.published = state.published.with(
                linked: state.keyspace.tree.snapshot(), grownLength: state.grownLength)
            publish(state.published)
            return true
        }
    }
}
