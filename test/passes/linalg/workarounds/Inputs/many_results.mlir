// 400 results. Stream/Transforms/ScheduleExecution.cpp awaits each of them on its own, and visits these
// waits from the last to the first: `GroupAwaitsByTimepoint` (Stream/IR/StreamOpFolders.cpp) merges
// each with all that follow, which brings up the exports of these again, and `DeduplicateTensorOp`
// compares each with all exports before it. So time grows with the third power of the number of
// results. Behind a barrier there is one wait.
// Workaround: passes/linalg/workarounds/many_results.py, WorkaroundManyResults
// TARGET: cpu
// PASS: workaround-many-results

!x = tensor<40xf32>
!y = tensor<2xf32>
func.func @main(
    %a: !x, %b: !x, %c: !x, %d: !x, %e: !x, %f: !x, %g: !x, %h: !x, %i: !x, %j: !x, %k: !x, %l: !x,
    %m: !x, %n: !x, %o: !x, %p: !x, %q: !x, %r: !x, %s: !x, %t: !x
) -> (
    !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y,
    !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y,
    !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y,
    !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y,
    !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y,
    !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y,
    !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y,
    !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y,
    !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y,
    !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y,
    !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y,
    !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y,
    !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y,
    !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y,
    !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y,
    !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y,
    !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y
) {
  %A:20 = call @part(%a) : (!x) -> (!y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y)
  %B:20 = call @part(%b) : (!x) -> (!y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y)
  %C:20 = call @part(%c) : (!x) -> (!y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y)
  %D:20 = call @part(%d) : (!x) -> (!y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y)
  %E:20 = call @part(%e) : (!x) -> (!y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y)
  %F:20 = call @part(%f) : (!x) -> (!y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y)
  %G:20 = call @part(%g) : (!x) -> (!y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y)
  %H:20 = call @part(%h) : (!x) -> (!y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y)
  %I:20 = call @part(%i) : (!x) -> (!y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y)
  %J:20 = call @part(%j) : (!x) -> (!y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y)
  %K:20 = call @part(%k) : (!x) -> (!y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y)
  %L:20 = call @part(%l) : (!x) -> (!y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y)
  %M:20 = call @part(%m) : (!x) -> (!y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y)
  %N:20 = call @part(%n) : (!x) -> (!y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y)
  %O:20 = call @part(%o) : (!x) -> (!y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y)
  %P:20 = call @part(%p) : (!x) -> (!y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y)
  %Q:20 = call @part(%q) : (!x) -> (!y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y)
  %R:20 = call @part(%r) : (!x) -> (!y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y)
  %S:20 = call @part(%s) : (!x) -> (!y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y)
  %T:20 = call @part(%t) : (!x) -> (!y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y)
  return
      %A#0, %A#1, %A#2, %A#3, %A#4, %A#5, %A#6, %A#7, %A#8, %A#9, %A#10, %A#11, %A#12, %A#13,
      %A#14, %A#15, %A#16, %A#17, %A#18, %A#19, %B#0, %B#1, %B#2, %B#3, %B#4, %B#5, %B#6, %B#7,
      %B#8, %B#9, %B#10, %B#11, %B#12, %B#13, %B#14, %B#15, %B#16, %B#17, %B#18, %B#19, %C#0, %C#1,
      %C#2, %C#3, %C#4, %C#5, %C#6, %C#7, %C#8, %C#9, %C#10, %C#11, %C#12, %C#13, %C#14, %C#15,
      %C#16, %C#17, %C#18, %C#19, %D#0, %D#1, %D#2, %D#3, %D#4, %D#5, %D#6, %D#7, %D#8, %D#9,
      %D#10, %D#11, %D#12, %D#13, %D#14, %D#15, %D#16, %D#17, %D#18, %D#19, %E#0, %E#1, %E#2, %E#3,
      %E#4, %E#5, %E#6, %E#7, %E#8, %E#9, %E#10, %E#11, %E#12, %E#13, %E#14, %E#15, %E#16, %E#17,
      %E#18, %E#19, %F#0, %F#1, %F#2, %F#3, %F#4, %F#5, %F#6, %F#7, %F#8, %F#9, %F#10, %F#11,
      %F#12, %F#13, %F#14, %F#15, %F#16, %F#17, %F#18, %F#19, %G#0, %G#1, %G#2, %G#3, %G#4, %G#5,
      %G#6, %G#7, %G#8, %G#9, %G#10, %G#11, %G#12, %G#13, %G#14, %G#15, %G#16, %G#17, %G#18, %G#19,
      %H#0, %H#1, %H#2, %H#3, %H#4, %H#5, %H#6, %H#7, %H#8, %H#9, %H#10, %H#11, %H#12, %H#13,
      %H#14, %H#15, %H#16, %H#17, %H#18, %H#19, %I#0, %I#1, %I#2, %I#3, %I#4, %I#5, %I#6, %I#7,
      %I#8, %I#9, %I#10, %I#11, %I#12, %I#13, %I#14, %I#15, %I#16, %I#17, %I#18, %I#19, %J#0, %J#1,
      %J#2, %J#3, %J#4, %J#5, %J#6, %J#7, %J#8, %J#9, %J#10, %J#11, %J#12, %J#13, %J#14, %J#15,
      %J#16, %J#17, %J#18, %J#19, %K#0, %K#1, %K#2, %K#3, %K#4, %K#5, %K#6, %K#7, %K#8, %K#9,
      %K#10, %K#11, %K#12, %K#13, %K#14, %K#15, %K#16, %K#17, %K#18, %K#19, %L#0, %L#1, %L#2, %L#3,
      %L#4, %L#5, %L#6, %L#7, %L#8, %L#9, %L#10, %L#11, %L#12, %L#13, %L#14, %L#15, %L#16, %L#17,
      %L#18, %L#19, %M#0, %M#1, %M#2, %M#3, %M#4, %M#5, %M#6, %M#7, %M#8, %M#9, %M#10, %M#11,
      %M#12, %M#13, %M#14, %M#15, %M#16, %M#17, %M#18, %M#19, %N#0, %N#1, %N#2, %N#3, %N#4, %N#5,
      %N#6, %N#7, %N#8, %N#9, %N#10, %N#11, %N#12, %N#13, %N#14, %N#15, %N#16, %N#17, %N#18, %N#19,
      %O#0, %O#1, %O#2, %O#3, %O#4, %O#5, %O#6, %O#7, %O#8, %O#9, %O#10, %O#11, %O#12, %O#13,
      %O#14, %O#15, %O#16, %O#17, %O#18, %O#19, %P#0, %P#1, %P#2, %P#3, %P#4, %P#5, %P#6, %P#7,
      %P#8, %P#9, %P#10, %P#11, %P#12, %P#13, %P#14, %P#15, %P#16, %P#17, %P#18, %P#19, %Q#0, %Q#1,
      %Q#2, %Q#3, %Q#4, %Q#5, %Q#6, %Q#7, %Q#8, %Q#9, %Q#10, %Q#11, %Q#12, %Q#13, %Q#14, %Q#15,
      %Q#16, %Q#17, %Q#18, %Q#19, %R#0, %R#1, %R#2, %R#3, %R#4, %R#5, %R#6, %R#7, %R#8, %R#9,
      %R#10, %R#11, %R#12, %R#13, %R#14, %R#15, %R#16, %R#17, %R#18, %R#19, %S#0, %S#1, %S#2, %S#3,
      %S#4, %S#5, %S#6, %S#7, %S#8, %S#9, %S#10, %S#11, %S#12, %S#13, %S#14, %S#15, %S#16, %S#17,
      %S#18, %S#19, %T#0, %T#1, %T#2, %T#3, %T#4, %T#5, %T#6, %T#7, %T#8, %T#9, %T#10, %T#11,
      %T#12, %T#13, %T#14, %T#15, %T#16, %T#17, %T#18, %T#19
      :
      !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y,
      !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y,
      !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y,
      !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y,
      !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y,
      !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y,
      !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y,
      !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y,
      !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y,
      !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y,
      !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y,
      !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y,
      !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y,
      !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y,
      !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y,
      !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y,
      !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y,
      !y, !y, !y, !y, !y, !y, !y, !y, !y
}

func.func private @part(%x: !x) -> (!y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y) {
  %0 = tensor.extract_slice %x[0] [2] [1] : !x to !y
  %1 = tensor.extract_slice %x[2] [2] [1] : !x to !y
  %2 = tensor.extract_slice %x[4] [2] [1] : !x to !y
  %3 = tensor.extract_slice %x[6] [2] [1] : !x to !y
  %4 = tensor.extract_slice %x[8] [2] [1] : !x to !y
  %5 = tensor.extract_slice %x[10] [2] [1] : !x to !y
  %6 = tensor.extract_slice %x[12] [2] [1] : !x to !y
  %7 = tensor.extract_slice %x[14] [2] [1] : !x to !y
  %8 = tensor.extract_slice %x[16] [2] [1] : !x to !y
  %9 = tensor.extract_slice %x[18] [2] [1] : !x to !y
  %10 = tensor.extract_slice %x[20] [2] [1] : !x to !y
  %11 = tensor.extract_slice %x[22] [2] [1] : !x to !y
  %12 = tensor.extract_slice %x[24] [2] [1] : !x to !y
  %13 = tensor.extract_slice %x[26] [2] [1] : !x to !y
  %14 = tensor.extract_slice %x[28] [2] [1] : !x to !y
  %15 = tensor.extract_slice %x[30] [2] [1] : !x to !y
  %16 = tensor.extract_slice %x[32] [2] [1] : !x to !y
  %17 = tensor.extract_slice %x[34] [2] [1] : !x to !y
  %18 = tensor.extract_slice %x[36] [2] [1] : !x to !y
  %19 = tensor.extract_slice %x[38] [2] [1] : !x to !y
  return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19 : !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y, !y
}
