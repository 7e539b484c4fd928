/// Messages to neighbors.
extension LinkStateDatabase {
    /// Removes queued records and returns them as a message; nil if none may be sent now.
    mutating func nextMessage(on number: UInt64) -> PresenceMessage? {
        guard var connection = adjacentPeers[number], !connection.isSender,
            !connection.queue.isEmpty
        else {
            return nil
        }
        let isBroadcast = number == Self.broadcasts
        let limit =
            isBroadcast ? PresenceLimits.broadcastLength : PresenceLimits.messageLength
        var (records, length, count): ([PeerRecord], Int, Int) = ([], 8, 0)
        for key in connection.queue {
            let entry = entries[key]
            let isKnown = entry?.distance != nil || connection.queued[key] == true
            if let entry, isKnown, isBroadcast || !hubs.withheld.contains(key),
                !connection.acknowledged.contains(entry.number)
            {
                let record = entry.record
                guard length + record.length <= limit else { break }
                length += record.length
                connection.acknowledged.insert(entry.number)
                records.append(record)
            }
            count += 1
        }
        connection.dequeue(count)
        connection.isSender = !records.isEmpty
        adjacentPeers[number] = connection
        return records.isEmpty ? nil : PresenceMessage(records)
    }
}
