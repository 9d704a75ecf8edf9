import Foundation
import Store

/// Sums rows with equal keys and returns the sums in key order, in bounded memory.
///
/// Sums beyond the bound are sorted, written to an unlinked file, and merged at the end.
final class SortedSums {
    /// A key with its sums.
    struct Group {
        let key: RowKeyBytes
        var measures: ExactSums
        var kinds: CampaignIDKinds
    }

    /// Memory for sums until they are written to the file.
    static let defaultBytes = 32 << 20
    /// The memory of a group without the bytes of its key and its sums.
    private static let groupBytes = 120

    private let measureCount: Int
    private let mostBytes: Int
    private var indices: [RowKeyBytes: Int] = [:]
    private var groups: [Group] = []
    private var bytes = 0
    private var runs: SortedRuns?

    /// - Parameters:
    ///   - measureCount: the number of sums per key.
    ///   - mostBytes: the approximate memory for sums.
    init(measureCount: Int, mostBytes: Int = SortedSums.defaultBytes) {
        self.measureCount = measureCount
        self.mostBytes = mostBytes
    }

    /// Lets `body` add to the sums of a key; 128 bits do not overflow.
    ///
    /// - Throws: `InspectionError.temporaryFile`.
    func add(
        _ key: RowKeyBytes, kinds: CampaignIDKinds, _ body: (inout ExactSums) -> Void
    ) throws(InspectionError) {
        if indices[key] == nil {
            if bytes >= mostBytes { try spill() }
            indices[key] = groups.count
            groups.append(
                Group(key: key, measures: ExactSums(count: measureCount), kinds: []))
            bytes += key.count + measureCount * MemoryLayout<Int128>.size + Self.groupBytes
        }
        guard let index = indices[key] else { return }
        body(&groups[index].measures)
        groups[index].kinds.formUnion(kinds)
    }

    /// Calls `body` with each key and its sums, in order, and consumes the sums.
    func forEach(_ body: (Group) throws -> Void) throws {
        guard runs != nil else {
            let sorted = groups.sorted { $0.key < $1.key }
            clear()
            return try sorted.forEach(body)
        }
        try spill()
        guard let merge = try runs?.merge() else { return }
        runs = nil
        var pending: Group?
        while let next = try merge.next() {
            guard var open = pending else {
                pending = next
                continue
            }
            if open.key == next.key {
                open.measures.add(next.measures)
                open.kinds.formUnion(next.kinds)
                pending = open
            } else {
                try body(open)
                pending = next
            }
        }
        if let pending { try body(pending) }
    }

    private func spill() throws(InspectionError) {
        if runs == nil { runs = try SortedRuns(measureCount: measureCount) }
        try runs?.append(groups.sorted { $0.key < $1.key })
        clear()
    }

    private func clear() {
        indices.removeAll()
        groups.removeAll()
        bytes = 0
    }
}

/// Sorted groups in an unlinked file, which the system removes when the process ends.
private final class SortedRuns {
    private let file: FileHandle
    private let path: String
    private let measureCount: Int
    private var starts: [Int] = []
    private var end = 0

    private static let pieceBytes = 1 << 18

    init(measureCount: Int) throws(InspectionError) {
        self.measureCount = measureCount
        let directory = FileManager.default.temporaryDirectory.path
        var template = Array("\(directory)/weir-rows-XXXXXX".utf8CString)
        let descriptor = mkstemp(&template)
        path = template.withUnsafeBytes { String(decoding: $0.dropLast(), as: UTF8.self) }
        guard descriptor >= 0 else {
            throw .temporaryFile(path: path, detail: String(cString: strerror(errno)))
        }
        unlink(path)
        file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    }

    func append(_ groups: [SortedSums.Group]) throws(InspectionError) {
        guard !groups.isEmpty else { return }
        starts.append(end)
        var piece: [UInt8] = []
        for group in groups {
            Self.append(UInt32(group.key.count), to: &piece)
            group.key.append(to: &piece)
            piece.append(group.kinds.rawValue)
            Self.append(group.measures.unknown, to: &piece)
            for amount in group.measures.countedAmounts { Self.append(amount, to: &piece) }
            if piece.count >= Self.pieceBytes { try write(&piece) }
        }
        try write(&piece)
    }

    private static func append(_ integer: some FixedWidthInteger, to piece: inout [UInt8]) {
        withUnsafeBytes(of: integer.littleEndian) { piece.append(contentsOf: $0) }
    }

    private func write(_ piece: inout [UInt8]) throws(InspectionError) {
        do {
            try file.write(contentsOf: piece)
        } catch {
            throw fault()
        }
        end += piece.count
        piece.removeAll(keepingCapacity: true)
    }

    private func fault() -> InspectionError {
        .temporaryFile(path: path, detail: String(cString: strerror(errno)))
    }

    func merge() throws(InspectionError) -> RunMerge {
        var readers: [RunReader] = []
        for (index, start) in starts.enumerated() {
            let runEnd = index + 1 < starts.count ? starts[index + 1] : end
            readers.append(
                RunReader(file, path: path, start..<runEnd, measureCount: measureCount))
        }
        return try RunMerge(readers)
    }
}

private final class RunReader {
    private let file: FileHandle
    private let path: String
    private let measureCount: Int
    private var rest: Range<Int>
    private var piece: [UInt8] = []
    private var index = 0

    private static let pieceBytes = 1 << 16

    init(_ file: FileHandle, path: String, _ range: Range<Int>, measureCount: Int) {
        self.file = file
        self.path = path
        rest = range
        self.measureCount = measureCount
    }

    func next() throws(InspectionError) -> SortedSums.Group? {
        guard index < piece.count || !rest.isEmpty else { return nil }
        let length = Int(try integer(UInt32.self))
        try fill(length + 1)
        let key = RowKeyBytes(bytes: Array(piece[index..<index + length]))
        let kinds = CampaignIDKinds(rawValue: piece[index + length])
        index += length + 1
        let unknown = try integer(UInt64.self)
        var amounts: [Int128] = []
        amounts.reserveCapacity(measureCount)
        for _ in 0..<measureCount { amounts.append(try integer(Int128.self)) }
        return SortedSums.Group(
            key: key, measures: ExactSums(amounts, unknown: unknown), kinds: kinds)
    }

    private func integer<Integer: FixedWidthInteger>(
        _: Integer.Type
    ) throws(InspectionError) -> Integer {
        let size = MemoryLayout<Integer>.size
        try fill(size)
        defer { index += size }
        return Integer(
            littleEndian: piece.withUnsafeBytes {
                $0.loadUnaligned(fromByteOffset: index, as: Integer.self)
            })
    }

    /// Makes at least this many bytes readable.
    private func fill(_ count: Int) throws(InspectionError) {
        guard piece.count - index < count else { return }
        piece.removeFirst(index)
        index = 0
        while piece.count < count {
            let start = piece.count
            let wanted = min(max(Self.pieceBytes, count - start), rest.count)
            piece.append(contentsOf: repeatElement(0, count: wanted))
            let read = piece.withUnsafeMutableBytes {
                pread(
                    file.fileDescriptor, $0.baseAddress?.advanced(by: start), wanted,
                    off_t(rest.lowerBound))
            }
            guard read > 0 else {
                throw .temporaryFile(
                    path: path, detail: read == 0 ? "it ends" : String(cString: strerror(errno)))
            }
            piece.removeLast(wanted - read)
            rest = rest.lowerBound + read..<rest.upperBound
        }
    }
}

/// The groups of several runs in key order, merged with a heap of the runs' next groups.
private final class RunMerge {
    private var heap: [(group: SortedSums.Group, reader: RunReader)] = []

    init(_ readers: [RunReader]) throws(InspectionError) {
        for reader in readers {
            guard let group = try reader.next() else { continue }
            heap.append((group, reader))
        }
        heap.sort { $0.group.key < $1.group.key }
    }

    /// The next group. Runs with the same key return it consecutively.
    func next() throws(InspectionError) -> SortedSums.Group? {
        guard let first = heap.first else { return nil }
        if let following = try first.reader.next() {
            heap[0].group = following
        } else {
            let last = heap.removeLast()
            guard !heap.isEmpty else { return first.group }
            heap[0] = last
        }
        sink()
        return first.group
    }

    private func sink() {
        var parent = 0
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2]
            where child < heap.count && heap[child].group.key < heap[least].group.key {
                least = child
            }
            guard least != parent else { return }
            heap.swapAt(parent, least)
            parent = least
        }
    }
}
