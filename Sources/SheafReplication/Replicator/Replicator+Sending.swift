import SheafDocument
import SheafEngine
import SheafQuery
import SheafStorage
import SheafSync

/// The senders of all connections: their events, and the effects of these.
///
/// The evaluation for all peers shares one slice per iteration of the replication thread. When the
/// slice is used up, a peer continues in a later iteration, after the peers that follow it.
extension Replicator {
    // MARK: Events

    /// Runs an event of the sender of a connection, if there is one, and performs its effects.
    ///
    /// An error ends the connection.
    func runSender(
        of connection: Connection,
        _ event: (inout Sender, PeerContext, inout DocumentExchange) throws(EngineError) -> Void
    ) {
        guard connection.sender != nil, connection.session.isOpen else { return }
        var failure: EngineError?
        connection.session.advance(to: now)
        do throws(EngineError) {
            let context = context(of: connection)
            try connection.sender?.run { (sender) throws(EngineError) in
                try event(&sender, context, &connection.exchange)
            }
        } catch {
            failure = error
        }
        statistics.documentsSent += connection.exchange.drainSentCount()
        while let effect = connection.sender?.effects.next() { perform(effect, of: connection) }
        if let failure { return failSending(connection, failure) }
        if !connection.session.isOpen { settle(connection) }
    }

    /// Refills the budget of the peer, and runs an event that evaluates queries.
    func evaluate(
        _ connection: Connection,
        _ event: (inout Sender, PeerContext, inout DocumentExchange) throws(EngineError) -> Void
    ) {
        guard connection.sender != nil else { return }
        fillBudget(of: connection)
        runSender(of: connection, event)
    }

    private func perform(_ effect: Sender.Effect, of connection: Connection) {
        guard let key = connection.session.remote?.peerKey else { return }
        switch effect {
        case .sentAgain(let address, let commit):
            refusals.recordSent(address, with: commit, to: key)
        case .sentRepairs(let addresses, let commit):
            repairs.recordSent(addresses, with: commit, to: key)
        case .repair(let address): repairs.insert(address, for: key)
        case .unsendable(let address, let commits):
            recordUnsendable(address, commits, on: connection)
        case .refused(let address, let commits, let reason):
            refusals.add(address, commits, reason, of: key, milliseconds: wallMilliseconds)
        case .refusedOmitted(let count, let commit):
            refusals.omit(count, through: commit, of: key)
        case .compared(let snapshot, let sent):
            recordComparedRefusals(sent, snapshot, on: connection)
        case .acknowledged(let commit, let synced):
            handleAcknowledgment(through: commit, on: connection)
            recordSynced(through: synced, connection)
        }
    }

    /// Sends pending documents while the peer has credit.
    func send(_ connection: Connection) {
        evaluate(connection) { sender, context, exchange throws(EngineError) in
            try sender.send(context, on: &exchange)
        }
    }

    /// Sends the replication position if it is due.
    func sendPositionIfDue(_ connection: Connection) {
        connection.sender?.sendPositionIfDue(at: now, on: &connection.exchange)
    }

    /// Schedules new changes for the next pump, or for the next tick of a limited peer.
    func scheduleSending(_ connection: Connection) {
        connection.isChanged = true
        guard connection.isLimited else {
            connection.sender?.isAwake = true
            return
        }
        runSender(of: connection) { sender, context, _ in sender.scheduleLimited(context) }
    }

    /// Schedules the sending of new commits.
    ///
    /// For all other connections, commits permit no further steps.
    func scheduleSending() {
        refreshTable()
        var last: UInt64?
        while let connection = table.nextAfterCommit(last) {
            last = connection.number
            scheduleSending(connection)
        }
    }

    /// Makes the peer reconcile its subscription again.
    func restart(_ connection: Connection) {
        connection.sender?.restart(on: &connection.exchange)
    }

    /// Collects changed documents for all connections to peers with limited rights.
    func collectChangesForLimitedPeers() {
        refreshTable()
        let limited = table.followers.members.filter { $0.isLimited && $0.sender != nil }
        guard !limited.isEmpty else { return }
        let changes: [ChangedDocument]
        do throws(EngineError) { changes = try recent.changedDocuments() } catch {
            for connection in limited { failSending(connection, error) }
            return
        }
        for connection in limited {
            runSender(of: connection) { sender, context, exchange throws(EngineError) in
                sender.sent = context.snapshot.log.commit
                try sender.collect(changes, context, on: &exchange)
            }
        }
    }

    // MARK: Slices

    /// Continues unfinished work until the slice is used up.
    ///
    /// It starts after the connection on which the last slice was used up.
    func continueSending() {
        slice.refill()
        // In most iterations there is no unfinished work.
        refreshTable()
        guard transfer.isCheckingProofs || !table.working.isEmpty else { return }
        let first = lastSlicedConnection
        var last: UInt64? = first
        while let connection = nextWorking(after: last) {
            last = connection.number
            continueSending(connection)
        }
        last = nil
        while let connection = nextWorking(after: last), connection.number <= first {
            last = connection.number
            continueSending(connection)
        }
    }

    /// Returns the next connection that may have unfinished work.
    ///
    /// It may also have changed since its steps were last taken; all others would do nothing.
    private func nextWorking(after number: UInt64?) -> Connection? {
        let next = table.nextWorking(after: number)
        guard let proving = transfer.nextCheckingProofs(after: number),
            proving < next?.number ?? .max
        else { return next }
        return connections[proving]
    }

    private func continueSending(_ connection: Connection) {
        let wasOver = slice.isOver
        begin(connection)
        if connection.sender?.preparation != nil {
            evaluate(connection) { sender, context, exchange throws(EngineError) in
                try sender.prepare(context, on: &exchange)
            }
        }
        follow(connection)
        if connection.sender?.limited.isJudging == true {
            evaluate(connection) { sender, context, exchange throws(EngineError) in
                try sender.judgeChanges(context, on: &exchange)
            }
        }
        if connection.sender?.hasMore == true {
            connection.sender?.isAwake = true
            follow(connection)
        }
        settleDisputed(on: connection)
        recordSynced(connection)
        if transfer[connection.number].isCheckingProofs { answerProofs(on: connection) }
        settle(connection)
        if slice.isOver, !wasOver { lastSlicedConnection = connection.number }
    }
}
