import SheafBytes
import SheafDocument
import SheafStorage
import SheafSync

/// Documents whose stamps are too far ahead of the clock here: they are set aside, and the rest goes on.
extension SyncHost {
    /// What the clock on the wall shows.
    var wallMilliseconds: UInt64 { queries.options.clock.wallMilliseconds() }

    private var setAsideClock: SetAsideClock { SetAsideClock(wall: wallMilliseconds, now: now) }

    /// When documents that were set aside are looked through; nil where no connected peer could send them.
    var setAsideDeadline: UInt64? {
        guard let checkAt = setAside.checkAt,
            links.values.contains(where: { link in
                link.session.isOpen
                    && link.session.remote.map { setAside[$0.peerKey] != nil } ?? false
            })
        else { return nil }
        return checkAt
    }

    // MARK: What this peer sets aside

    /// Takes in what was set aside of a job, and what is here now that was set aside before.
    func noteSetAside(_ outcome: WriteJob.Outcome, isComplete: Bool, on link: Link) {
        guard !outcome.ahead.isEmpty || !setAside.isEmpty else { return }
        guard let key = link.session.remote?.peerKey,
            outcome.generation == link.asking.generation
        else { return }
        for address in outcome.settled { setAside.settle(address, of: key, at: now) }
        for (address, time) in outcome.ahead.documents {
            link.asking.askedAgain.remove(address)
            setAside.add(address, time, of: key, at: now)
        }
        if let (count, earliest) = outcome.ahead.omitted {
            link.asking.comparesSetAside = false
            setAside.omit(count, earliest, of: key, at: now)
        }
        if isComplete {
            // What was asked for again and did not come is not there any more, or not for this peer.
            for address in link.asking.askedAgain { setAside.remove(address, of: key) }
            if link.asking.comparesSetAside { setAside.removeOmitted(of: key) }
            if !link.asking.askedAgain.isEmpty || link.asking.missesCheck {
                setAside.scheduleCheck(at: now)
            }
            (link.asking.askedAgain, link.asking.comparesSetAside) = ([], false)
            link.asking.missesCheck = false
        }
        reportSetAside(link)
    }

    /// Notes that a comparison asks for all that was set aside.
    func askAgainForAllSetAside(_ link: Link) {
        guard let key = link.session.remote?.peerKey, let documents = setAside[key] else { return }
        link.asking.askedAgain.formUnion(documents.entries.keys)
        link.asking.comparesSetAside = documents.omitted != nil
    }

    /// Asks again for what may be taken by now.
    func checkSetAside() {
        guard let checkAt = setAside.checkAt, checkAt <= now else { return }
        let clock = setAsideClock
        for link in allLinks {
            guard let key = link.session.remote?.peerKey, link.session.isOpen,
                setAside[key] != nil
            else { continue }
            // An earlier request has to be answered first: the check is repeated then.
            guard link.asking.hasCaughtUp, !link.asking.isWriting,
                link.asking.askedAgain.isEmpty, !link.asking.comparesSetAside
            else {
                link.asking.missesCheck = true
                continue
            }
            let (addresses, comparesAll) = setAside.due(of: key, clock)
            if comparesAll {
                wishes.cursors[key] = nil
                ask(link)
            } else if !addresses.isEmpty {
                ask(link, whole: addresses)
                link.asking.askedAgain = Set(addresses)
            }
        }
        setAside.scheduleCheck(after: setAside.earliest(clock), wall: clock.wall, at: now)
    }

    /// Forgets what was set aside of peers that are not remembered any more.
    func forgetSetAside(but known: Set<[UInt8]>) {
        for key in setAside.keys where !known.contains(key) { setAside.remove(peer: key) }
    }

    /// Tells the other side, and people here, how much of it is set aside, where that has changed.
    func reportSetAside(_ link: Link) {
        guard let key = link.session.remote?.peerKey else { return }
        let wall = wallMilliseconds
        let documents = setAside[key]
        let count = UInt64(documents?.count ?? 0)
        let latest = documents?.latest.milliseconds ?? 0
        guard count != link.asking.reportedSetAside else { return }
        link.asking.reportedSetAside = count
        link.session.report(
            SetAsideNotice(
                count: count, latestMilliseconds: latest, wallMilliseconds: wall))
        change(link) { status in
            status.clock.setAside =
                count == 0
                ? nil
                : SetAsideSummary(
                    count: count, aheadMilliseconds: latest - min(latest, wall))
        }
        warnOfClock(link)
    }

    // MARK: What the other side sets aside

    /// Takes in how much from here the other side has set aside.
    func noteSetAside(_ notice: SetAsideNotice, on link: Link) {
        let ahead =
            notice.latestMilliseconds - min(notice.latestMilliseconds, notice.wallMilliseconds)
        change(link) { status in
            status.clock.setAsideThere =
                notice.count == 0
                ? nil : SetAsideSummary(count: notice.count, aheadMilliseconds: ahead)
        }
        // What was acknowledged meanwhile counts when nothing is set aside any more.
        if notice.count == 0, let telling = link.telling, telling.acknowledged > 0 {
            noteSynced(through: telling.acknowledged, link)
        }
        warnOfClock(link)
    }

    // MARK: Clocks

    /// Holds the clock of the other side against the one here.
    func noteClock(of hello: Hello, on link: Link) {
        let wall = wallMilliseconds
        let offset =
            hello.wallMilliseconds >= wall
            ? Int64(clamping: hello.wallMilliseconds - wall)
            : -Int64(clamping: wall - hello.wallMilliseconds)
        change(link) { status in
            status.clock.offsetMilliseconds = offset
            // The other side says anew what it has set aside.
            status.clock.setAsideThere = nil
        }
        reportSetAside(link)
        warnOfClock(link)
    }

    private func warnOfClock(_ link: Link) {
        guard let key = link.session.remote?.peerKey, let status = statuses[key] else { return }
        guard clockWarnings.isDue(key, status.clock.faults, at: now) else { return }
        emit(.clockWarning(peer: key, status.clock.sentences))
    }

    // MARK: Explanations

    /// The time for which a document of a peer is set aside, in milliseconds since 1970.
    func setAsideTime(of collection: String, _ id: Value, from key: [UInt8]) -> UInt64? {
        guard let bytes = try? DocumentID.key(of: id) else { return nil }
        let address = DocumentAddress(collection: collection, id: bytes)
        return setAside[key]?.entries[address]?.time.milliseconds
    }

    /// How far the latest dot of a document is ahead of the clock here; nil where it is not.
    func aheadMilliseconds(of document: StoredDocument?) throws -> UInt64? {
        guard let document else { return nil }
        let wall = wallMilliseconds
        let latest = try document.read { (bytes) throws(Malformed) in
            try EncodedDocument(bytes).latestDot().milliseconds
        }
        return latest > wall ? latest - wall : nil
    }
}
