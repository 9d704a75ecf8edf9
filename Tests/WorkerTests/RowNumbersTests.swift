import Streams
import Testing

@testable import AggregateStore

@Suite("Numbers of rows")
struct RowNumbersTests {
    @Test("two tables of one aggregate keep their numbers apart, batch after batch")
    func twoTables() {
        let numbers = RowNumbers()
        let added = DeltaTable<StoreNotificationsKey>()
        let takenBack = DeltaTable<StoreNotificationsKey>()
        numbers.table(for: added)[3] = 7
        numbers.table(for: takenBack)[3] = 8
        #expect(numbers.table(for: added)[3] == 7)
        #expect(numbers.table(for: takenBack)[3] == 8)
    }

    @Test("when a table forgets its rows, so do the numbers")
    func endedGenerations() {
        let numbers = RowNumbers()
        let table = DeltaTable<StoreNotificationsKey>()
        let other = DeltaTable<StoreNotificationsKey>()
        numbers.table(for: other)[0] = 1
        for number in 1...100 {
            #expect(numbers.table(for: table)[0] == nil)
            numbers.table(for: table)[0] = Int64(number)
            table.removeAll(keepingRows: false)
        }
        #expect(numbers.generationCount <= 3)
        #expect(numbers.table(for: other)[0] == 1)
    }
}
