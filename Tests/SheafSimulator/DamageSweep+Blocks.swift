import SheafStorage
import SheafTestSupport

extension DamageSweep {
    private static let blockSizes = [512, 4_096]

    /// Damages blocks and complete files as disk faults and user mistakes do.
    ///
    /// `other` is a store of the same shape from another seed, `copy` the same store with other
    /// payloads. Only every `stride`th case is tried.
    package func damageBlocks(
        other: ReferenceStore, copy: ReferenceStore, stride: Int = 1
    ) throws -> [String: Tally] {
        var tallies: [String: Tally] = [:]
        var number = 0
        func attempt(_ kind: String, _ what: String, _ body: () throws -> Outcome) throws {
            number += 1
            guard number % stride == 0 else { return }
            tallies[kind, default: Tally()].add(try describing(what, body))
        }
        for name in store.names {
            let size = store.files[name]?.count ?? 0
            try damageBlocks(of: name, other, attempt)
            try attempt("garbage appended", "\(name) with garbage appended") {
                let garbage = [UInt8](repeating: 0xA5, count: 777)
                return try damage(name, .append(garbage), [size..<size + 777])
            }
            try attempt("file of another store", "\(name) of another store") {
                try overwrite(name, 0..<size, from: other, file: name)
            }
            try attempt("file with other payloads", "\(name) with other payloads") {
                // A checkpoint that does not match its log is indistinguishable from damage to the
                // log.
                let volume = store.volume()
                replace(name, in: volume, with: copy.files[name] ?? [])
                return try checkDamage(
                    volume, nil, notBefore: store.oldestCommit(file: name, damaged: [0..<size]))
            }
            try attempt("file deleted", "\(name) deleted") {
                let volume = store.volume()
                volume.corrupt(name, .delete)
                return try checkDamage(
                    volume, nil, notBefore: store.oldestCommit(file: name, damaged: [0..<size]))
            }
            for copy in copies(of: name) {
                try attempt("file copied", "\(name) copied to \(copy)") {
                    var files = store.files
                    files[copy] = files[name]
                    return try checkDamage(
                        SimulatedVolume(files: files), nil, notBefore: store.model.last)
                }
            }
        }
        for bytes in store.flushes {
            try attempt("record with other payloads", "\(bytes) with other payloads") {
                try overwrite(store.newestSegment, bytes, from: copy, file: store.newestSegment)
            }
        }
        return tallies
    }

    /// Zeroes, swaps and replaces the blocks of a file.
    private func damageBlocks(
        of name: String, _ other: ReferenceStore,
        _ attempt: (String, String, () throws -> Outcome) throws -> Void
    ) throws {
        let size = store.files[name]?.count ?? 0
        for blockSize in Self.blockSizes {
            let count = (size + blockSize - 1) / blockSize
            for block in 0..<count {
                let bytes = block * blockSize..<min((block + 1) * blockSize, size)
                try attempt("block zeroed", "\(name):\(bytes) zeroed") {
                    try damage(name, .zero(at: bytes.lowerBound, count: bytes.count), [bytes])
                }
                try attempt("block of another store", "\(name):\(bytes) of another store") {
                    try overwrite(name, bytes, from: other, file: name)
                }
                for second in block + 1..<max(count, block + 1) where blockSize == 4_096 {
                    let others = second * blockSize..<min((second + 1) * blockSize, size)
                    try attempt("blocks swapped", "\(name):\(bytes) and \(others) swapped") {
                        try damage(
                            name, .swapBlocks(block, second, size: blockSize), [bytes, others])
                    }
                }
            }
        }
    }

    private func damage(
        _ name: String, _ corruption: SimulatedCorruption, _ bytes: [Range<Int>]
    ) throws -> Outcome {
        let volume = store.volume()
        volume.corrupt(name, corruption)
        return try judge(volume, name, bytes)
    }

    private func overwrite(
        _ name: String, _ bytes: Range<Int>, from other: ReferenceStore, file: String
    ) throws -> Outcome {
        let source = other.files[file] ?? []
        let clamped = bytes.clamped(to: 0..<source.count)
        return try damage(
            name, .overwrite(at: clamped.lowerBound, with: Array(source[clamped])), [bytes])
    }

    private func replace(_ name: String, in volume: SimulatedVolume, with bytes: [UInt8]) {
        volume.corrupt(name, .truncate(to: 0))
        volume.corrupt(name, .append(bytes))
    }

    /// Returns names under which a copy of a file could be mistaken for another file.
    private func copies(of name: String) -> [String] {
        let last =
            store.names.compactMap { name -> UInt32? in
                if case .segment(let number) = FileName(name) { return number }
                return nil
            }.max() ?? 0
        switch FileName(name) {
        case .segment, .base:
            return [
                FileName.name(ofSegment: last + 1), FileName.name(ofSegment: last + 3),
                FileName.name(ofBase: 1...last + 1), FileName.name(ofBase: last + 1...last + 2),
                "copy of \(name)", FileName.temporaryName(1),
            ]
        default:
            return [
                FileName.name(ofCheckpoint: 1), FileName.name(ofCheckpoint: .max - 1),
                FileName.temporaryName(2),
            ]
        }
    }
}
