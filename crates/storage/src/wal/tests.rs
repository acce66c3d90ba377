//! Tests of telling the parts of one log from those of another.

use super::{Link, LogName};

const NAME: LogName = LogName { identity: 7, number: 3, is_linked: true };

#[test]
fn what_another_log_left_on_the_same_blocks_is_not_taken_for_a_part_of_this_one() {
    let link = Link { number: 2, length: 640, sequence: 9 };
    let mut record = Vec::new();
    NAME.frame(10, b"payload", &mut record);
    assert_eq!(NAME.read_record(&record), Some((10, &b"payload"[..])));
    assert_eq!(NAME.read_mark(&NAME.mark(80, 64), 80), Some(64));
    assert_eq!(NAME.read_link(&NAME.link(80, link), 80), Some(link));
    for other in [LogName { number: 4, ..NAME }, LogName { identity: 8, ..NAME }] {
        assert_eq!(other.read_record(&record), None);
        assert_eq!(other.read_mark(&NAME.mark(80, 64), 80), None);
        assert_eq!(other.read_link(&NAME.link(80, link), 80), None);
    }
    assert_eq!(NAME.read_mark(&NAME.mark(80, 64), 96), None, "a mark counts only at its place");
    assert_eq!(NAME.read_link(&NAME.link(80, link), 96), None, "a link counts only at its place");
}
