package import SheafDocument

extension ModelDocument {
    /// The visible value of the document; nil if it does not exist.
    package var value: Value? { value(of: .map, at: []) }

    /// Returns the visible value of a declared part, or nil if the part does not exist.
    package func value(at path: [String], as part: Part) -> Value? {
        value(of: part, at: Self.path(path))
    }

    func value(of part: Part, at path: Path) -> Value? {
        guard isPresent(part, at: path) else { return nil }
        switch part {
        case .register, .attachment:
            return dots(of: part, at: path).first?.content.value
        case .map:
            var object = Object()
            for name in names(below: path) {
                let path = path + [name]
                guard let shown = shownPart(at: path) else { continue }
                object[String(decoding: name, as: UTF8.self)] = value(of: shown, at: path)
            }
            return .object(object)
        case .counter:
            let epoch = latestEpoch(at: path)
            let counted = dots(of: .counter, at: path).filter { dot, content in
                dot.kind == .restart ? dot.stamp == epoch : content.epoch == epoch
            }
            // Floats are added in the order of their stamps, a restart before sums.
            let sorted =
                counted.filter { $0.dot.kind == .restart }.reversed()
                + counted.filter { $0.dot.kind == .sum }.reversed()
            return Number.sum(sorted.compactMap { $0.content.value.flatMap(Number.init) }).value
        case .olderCounter:
            let sums = dots(of: .olderCounter, at: path)
            return Number.sum(sums.reversed().compactMap { $0.content.value.flatMap(Number.init) })
                .value
        }
    }

    /// Whether a part has a dot, or, for a map, any field below it has one.
    func isPresent(_ part: Part, at path: Path) -> Bool { latestStamp(of: part, at: path) != nil }

    /// Returns the visible part: the one with the latest dot, or the first of equal ones.
    func shownPart(at path: Path) -> Part? {
        var shown: (part: Part, stamp: Stamp)?
        for part in Part.allCases {
            guard let stamp = latestStamp(of: part, at: path) else { continue }
            if let shown, stamp <= shown.stamp { continue }
            shown = (part, stamp)
        }
        return shown?.part
    }

    /// Returns the stamp of the latest restart or epoch of a counter.
    func latestEpoch(at path: Path) -> Stamp {
        let epochs = dots(of: .counter, at: path).map { dot, content in
            dot.kind == .restart ? dot.stamp : content.epoch
        }
        return epochs.max() ?? .initial
    }

    /// Returns the latest stamp of a part; for a map, including all fields below it.
    private func latestStamp(of part: Part, at path: Path) -> Stamp? {
        var latest: Stamp?
        for dot in dots.keys {
            let isOwn = dot.path.count == path.count
            guard isOwn ? dot.kind.part == part : part == .map, dot.path.begins(with: path) else {
                continue
            }
            latest = max(latest ?? dot.stamp, dot.stamp)
        }
        return latest
    }

    /// Returns the dots of the part itself, the latest first.
    private func dots(of part: Part, at path: Path) -> [(dot: DotIdentity, content: Content)] {
        var found: [(dot: DotIdentity, content: Content)] = []
        for (dot, content) in dots where dot.kind.part == part && dot.path.isSame(as: path) {
            found.append((dot, content))
        }
        return found.sorted { $0.dot.stamp > $1.dot.stamp }
    }

    private func names(below path: Path) -> Set<[UInt8]> {
        Set(
            dots.keys.filter { $0.path.count > path.count && $0.path.begins(with: path) }
                .map { $0.path[path.count] })
    }
}
