import SheafDocument
import SheafSync

/// Tokens that another peer has called unproven: it confirms them once they are proven there.
extension SyncHost {
    /// Asks the trusted peers whether a token that is unproven here is proven there.
    func askForProof(of id: AttachmentID, in document: DocumentAddress, but asker: Link? = nil) {
        let token = TokenAddress(attachment: id.bytes, document: document)
        for link in allLinks where link !== asker && !isLimited(link) {
            guard link.session.isOpen, isShared(document.collection, on: link),
                link.files.proofsAsked.count < SyncLimits.askedProofs,
                link.files.proofsAsked.insert(token).inserted
            else { continue }
            link.session.askForProof(of: token)
            files.isStirred = true
        }
    }

    /// Handles the question of another peer whether a token is proven here.
    func proofAsked(_ token: TokenAddress, on link: Link) {
        link.files.proofsOwed.insert(token)
        answerProofs(on: link)
        guard link.files.proofsOwed.contains(token), mayKnow(token.document, on: link),
            let id = AttachmentID(bytes: token.attachment)
        else { return }
        checkTokensSoon()
        askForProof(of: id, in: token.document, but: link)
    }

    /// Whether the other side may know of a document that is here.
    private func mayKnow(_ address: DocumentAddress, on link: Link) -> Bool {
        let snapshot = news.snapshot
        guard let key = snapshot.key(of: address), let document = try? snapshot.document(key)
        else { return false }
        return (try? maySend(link, document, before: nil, key, address, snapshot)) ?? false
    }

    /// Confirms the tokens that are proven by now.
    func answerProofs(on link: Link) {
        guard !link.files.proofsOwed.isEmpty, link.session.isOpen else { return }
        let snapshot = news.snapshot
        for token in link.files.proofsOwed.sorted(by: { $0.document < $1.document }) {
            guard let id = AttachmentID(bytes: token.attachment),
                let key = snapshot.key(of: token.document),
                let named = try? snapshot.attachments(namedBy: key),
                snapshot.proven(named, inDocument: key).contains(id),
                mayKnow(token.document, on: link)
            else { continue }
            link.files.proofsOwed.remove(token)
            link.session.confirm(token)
            files.isStirred = true
        }
    }

    /// Handles the confirmation of another peer that a token is proven there.
    func confirmed(_ token: TokenAddress, on link: Link) {
        guard link.files.proofsAsked.remove(token) != nil, !isLimited(link),
            let hello = link.session.remote
        else { return }
        let snapshot = news.snapshot
        guard let key = snapshot.key(of: token.document),
            let proven = try? snapshot.unprovenToken(of: token.attachment, inDocument: key)
        else { return }
        emit(
            .write(
                WriteJob(
                    link: link.number, steps: [], peer: hello.site, writable: nil,
                    proven: [proven])))
    }
}
