import SheafAttachments
package import SheafDocument
import SheafEngine
import SheafStatements
import SheafSync
import SheafTransport

/// The events and effects of the transfer of attachments.
extension Replicator {
    /// Starts to fetch an attachment for this peer.
    package func fetch(_ id: AttachmentID, at now: UInt64) {
        self.now = now
        transfer.now = now
        transfer.fetch(id)
        pump()
    }

    /// Stops fetching an attachment for this peer; received chunks are kept for a later fetch.
    package func cancelFetch(_ id: AttachmentID) {
        transfer.cancelFetch(id)
        pump()
    }

    /// Performs the attachment work that is due; serves at most one part.
    func tickTransfer() {
        guard transfer.attachments != nil else { return }
        transfer.tick()
        refreshTable()
        transfer.serveNext(
            table.serving.members.compactMap { connection in
                connection.session.nextServed.map { (connection.number, $0) }
            })
    }

    /// The time at which attachment work is due next; nil if none is.
    var transferDeadline: UInt64? {
        table.serving.isEmpty ? transfer.deadline : now
    }

    /// Checks all requests for attachments after a commit or a change of the scopes.
    func checkTransfers(areRightsChanged: Bool = false) {
        guard transfer.attachments != nil else { return }
        transfer.completeStored()
        for number in transfer.beginChecks(areRightsChanged: areRightsChanged) {
            if let connection = connections[number] { answerProofs(on: connection) }
            transfer.checkRequests(of: number)
        }
    }

    /// Confirms tokens that the peer has asked for, within its evaluation budget.
    func answerProofs(on connection: Connection) {
        guard !transfer[connection.number].proofsOwed.isEmpty else { return }
        fillBudget(of: connection)
        transfer.answerProofs(on: connection.number, meter(of: connection), slice)
    }

    /// Performs the effects of the transfer until there are none.
    ///
    /// An effect that ends a connection performs the following ones itself, including those that
    /// the end of the connection adds.
    func performTransfers() {
        while let effect = transfer.nextEffect() { perform(effect) }
    }

    private func perform(_ effect: AttachmentTransfer.Effect) {
        switch effect {
        case .send(let number, let message):
            guard let connection = connections[number] else { return }
            send(message, on: connection)
        case .prove(let number, let site, let tokens):
            emit(
                .write(
                    WriteJob(
                        connection: number, steps: [], peer: site, writable: nil, proven: tokens)))
        case .fetched(let id, let update): emit(.fetched(id, update))
        case .quota(let number, let isExceeded, let kept):
            guard let connection = connections[number] else { return }
            recordQuota(of: connection, isExceeded: isExceeded, kept)
        case .fail(let number):
            guard let connection = connections[number] else { return }
            fail(
                connection, .limit, "the requests for proofs exceed the evaluation budget of a peer"
            )
        }
    }

    private func send(_ message: AttachmentTransfer.Message, on connection: Connection) {
        switch message {
        case .seek(let seek): connection.session.seek(seek)
        case .offer(let offer): connection.session.offer(offer)
        case .fetch(let part):
            guard connection.session.fetchRoom > 0 else { return }
            connection.session.fetch(part)
        case .serve(let bytes): connection.session.serve(bytes)
        case .requestProof(let token): connection.session.requestProof(of: token)
        case .confirm(let token): connection.session.confirm(token)
        }
    }

    /// Records whether a peer exceeds its attachment quota, and logs a warning when it begins to.
    private func recordQuota(of connection: Connection, isExceeded: Bool, _ kept: Int) {
        guard isExceeded, let key = connection.session.remote?.peerKey else {
            return change(connection) { $0.attachmentQuotaReason = nil }
        }
        let quota = transfer.quota
        if peers[key]?.attachmentQuotaReason == nil {
            queries.log?.write(
                .warning,
                "a peer with limited rights has reached its attachment quota; its further attachments are not fetched "
                    + "for other peers",
                [
                    "peer": PeerKey(unchecked: key).description, "kept": "\(kept)",
                    "quota": "\(quota)",
                ])
        }
        change(connection) {
            $0.attachmentQuotaReason =
                "its attachments are not fetched for other peers: they exceed its quota of \(quota) bytes"
        }
    }

    /// Logs the failure, if any, of a job that marks tokens as proven.
    func recordProven(_ outcome: WriteJob.Outcome) {
        guard let error = outcome.error else { return }
        queries.log?.write(
            .warning, "cannot write the proof of an attachment: \(error)")
    }
}
