/// The addresses of other peers, learned from their records.
extension LinkStateDatabase {
    /// The addresses of other peers by key, until their records are removed.
    ///
    /// They are kept while a peer is not reached, so that a peer that has lost its only connection
    /// can connect to others. Peers that were never reached have none: any peer can invent them.
    package var knownAddresses: [[UInt8]: [PeerRecord.Address]] {
        entries.filter { entry in
            entry.value.wasReached && entry.key != key
                && !entry.value.record.description.addresses.isEmpty
        }.mapValues(\.record.description.addresses)
    }
}
