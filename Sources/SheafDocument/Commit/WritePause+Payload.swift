package import SheafBytes

extension ByteWriter {
    /// Writes the pauses of a site, 16 bytes each.
    package mutating func write(_ pauses: [WritePause]) {
        for pause in pauses {
            write(pause.after.rawValue)
            write(pause.before.rawValue)
        }
    }
}

extension ByteReader {
    /// Reads `count` pauses of a site, or all up to the end of the bytes.
    package mutating func readPauses(count: Int? = nil) throws(Malformed) -> [WritePause] {
        var pauses: [WritePause] = []
        while count.map({ pauses.count < $0 }) ?? (remaining > 0) {
            guard pauses.count < WritePause.maximumCount else {
                throw .invalid("more than \(WritePause.maximumCount) pauses of a site", at: offset)
            }
            let start = offset
            let (after, before) = (try readUInt64(), try readUInt64())
            guard
                let pause = WritePause(
                    after: HybridTime(rawValue: after), before: HybridTime(rawValue: before))
            else { throw .invalid("a pause of a site that contains no time", at: start) }
            pauses.append(pause)
        }
        return pauses
    }
}
