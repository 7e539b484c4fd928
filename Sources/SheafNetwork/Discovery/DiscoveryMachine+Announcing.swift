/// Announcing this peer, and answering questions about it.
extension DiscoveryMachine {
    /// Sends the next probe or announcement, if it is due.
    mutating func stepStartup(on link: DiscoveryLink, _ now: UInt64) {
        guard let own, let state = links[link], let startup = state.startup,
            let next = startup.next, next <= now
        else { return }
        switch startup {
        case .probing(DiscoveryTimes.probes, _):
            links[link]?.startup = .announcing(0, next: now)
            stepStartup(on: link, now)
        case .probing(let count, _):
            var probe = DNSMessage()
            probe.questions = own.uniqueNames.map { DNSQuestion($0, DNSType.any) }
            probe.proposals = own.uniqueRecords(state.addresses.announced).map { record in
                var record = record
                record.replacesOthers = false
                return record
            }
            send(probe, on: link)
            links[link]?.startup = .probing(count + 1, next: now + DiscoveryTimes.probe)
        case .announcing(let count, _):
            sendToAll(Set(own.records(state.addresses.announced)), on: link, now)
            links[link]?.startup =
                count + 1 < DiscoveryTimes.announcements
                ? .announcing(count + 1, next: now + DiscoveryTimes.announcement) : .done
        case .done: break
        }
    }

    /// Withdraws the records on all links where they were sent.
    mutating func withdraw() {
        guard let own else { return }
        for link in links.keys.sorted(by: DiscoveryLink.isBefore) {
            guard let state = links[link], state.isKnown else { continue }
            var goodbye = DNSMessage()
            goodbye.isResponse = true
            goodbye.answers = own.records(state.addresses.announced).map { record in
                var record = record
                record.seconds = 0
                return record
            }
            send(goodbye, on: link)
        }
    }

    /// Answers a query, now or after a while.
    mutating func answer(
        _ query: DNSMessage, on link: DiscoveryLink, from source: PacketSource, _ now: UInt64
    ) {
        guard let own, let state = links[link], state.isAnswering else { return }
        forgetAnswers(knownBy: query, on: link, from: source)
        let questions = query.questions.filter {
            !own.answers(to: $0, state.addresses.announced).isEmpty
        }
        let answers = Set(
            questions.flatMap { own.answers(to: $0, state.addresses.announced) }
                .filter { !query.knows($0) })
        guard !answers.isEmpty else { return }
        guard source.port == MulticastDNS.port else {
            return sendToResolver(answers, query, questions, on: link, source)
        }
        let isRecent = answers.allSatisfy { record in
            let quarter = UInt64(record.seconds) * DiscoveryTimes.second / 4
            return state.sent[record].map { now < $0 + quarter } ?? false
        }
        if isRecent, questions.allSatisfy(\.permitsUnicast) {
            return send(response(answers, on: link), on: link, to: source)
        }
        let due = max(now + delay(answers, query), earliest(answers, state))
        var pending = state.pending ?? LinkState.Pending(due: due, answers: [], source: source)
        pending.due = min(pending.due, due)
        pending.answers.formUnion(answers)
        if pending.source != source { pending.source = nil }
        links[link]?.pending = pending
        sendPendingAnswers(on: link, now)
    }

    mutating func sendPendingAnswers(on link: DiscoveryLink, _ now: UInt64) {
        guard let pending = links[link]?.pending, pending.due <= now else { return }
        links[link]?.pending = nil
        sendToAll(pending.answers, on: link, now)
    }

    private func delay(_ answers: Set<DNSRecord>, _ query: DNSMessage) -> UInt64 {
        if query.isTruncated { return draw(DiscoveryTimes.continuedAnswer) }
        // No other host has these records.
        if answers.allSatisfy(\.replacesOthers) { return 0 }
        return draw(DiscoveryTimes.answer)
    }

    /// Returns the time from which all of the records may be sent to all hosts again.
    private func earliest(_ answers: Set<DNSRecord>, _ state: LinkState) -> UInt64 {
        answers.compactMap { state.sent[$0] }.map { $0 + DiscoveryTimes.sameRecord }.max() ?? 0
    }

    /// Removes pending answers that their only asker turns out to know.
    private mutating func forgetAnswers(
        knownBy query: DNSMessage, on link: DiscoveryLink, from source: PacketSource
    ) {
        guard var pending = links[link]?.pending, pending.source == source else { return }
        pending.answers = pending.answers.filter { !query.knows($0) }
        links[link]?.pending = pending.answers.isEmpty ? nil : pending
    }

    private mutating func sendToAll(
        _ answers: Set<DNSRecord>, on link: DiscoveryLink, _ now: UInt64
    ) {
        let response = response(answers, on: link)
        for record in response.answers + response.additions { links[link]?.sent[record] = now }
        if var pending = links[link]?.pending {
            pending.answers.subtract(response.answers + response.additions)
            links[link]?.pending = pending.answers.isEmpty ? nil : pending
        }
        send(response, on: link)
    }

    /// Returns a response, in which the other records save the asking host further questions.
    private func response(_ answers: Set<DNSRecord>, on link: DiscoveryLink) -> DNSMessage {
        var response = DNSMessage()
        response.isResponse = true
        let all = (links[link]?.addresses.announced).flatMap { own?.records($0) } ?? []
        response.answers =
            all.filter(answers.contains) + answers.filter { !all.contains($0) }
        response.additions = all.filter { !answers.contains($0) }
        return response
    }

    /// Answers a simple resolver, which has asked from another port (section 6.7).
    private mutating func sendToResolver(
        _ answers: Set<DNSRecord>, _ query: DNSMessage, _ questions: [DNSQuestion],
        on link: DiscoveryLink, _ source: PacketSource
    ) {
        var response = response(answers, on: link)
        response.id = query.id
        response.questions = questions.map { DNSQuestion($0.name, $0.type) }
        let simplified = { (record: DNSRecord) in
            var record = record
            record.seconds = min(record.seconds, 10)
            record.replacesOthers = false
            return record
        }
        response.answers = response.answers.map(simplified)
        response.additions = response.additions.map(simplified)
        send(response, on: link, to: source)
    }
}

extension DNSMessage {
    /// Whether the sender of a query knows a record for at least half of its time (section 7.1).
    fileprivate func knows(_ record: DNSRecord) -> Bool {
        answers.contains {
            $0.name == record.name && $0.contents == record.contents
                && $0.seconds >= record.seconds / 2
        }
    }
}
