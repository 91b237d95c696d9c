// 1600 checks beside 160 values that are needed to the end. VM/Analysis/LinearScan/LiveIntervals.cpp
// looks for the last use of each value (`findLastUse`) in what is live at the start of each block, and
// each check is two blocks. So time grows with the values, times the blocks, times what is live in
// them: 140 s for a detector of 1,500 checks, which awaits the number of boxes of each class.
// Workaround: passes/linalg/workarounds/many_checks.py, WorkaroundManyChecks
// TARGET: cpu
// PASS: workaround-many-checks{most=1}

func.func @main(
    %limit: i64,
    %x0: i64, %x1: i64, %x2: i64, %x3: i64, %x4: i64, %x5: i64, %x6: i64, %x7: i64, %x8: i64, %x9:
    i64, %x10: i64, %x11: i64, %x12: i64, %x13: i64, %x14: i64, %x15: i64, %x16: i64, %x17: i64,
    %x18: i64, %x19: i64, %x20: i64, %x21: i64, %x22: i64, %x23: i64, %x24: i64, %x25: i64, %x26:
    i64, %x27: i64, %x28: i64, %x29: i64, %x30: i64, %x31: i64, %x32: i64, %x33: i64, %x34: i64,
    %x35: i64, %x36: i64, %x37: i64, %x38: i64, %x39: i64, %x40: i64, %x41: i64, %x42: i64, %x43:
    i64, %x44: i64, %x45: i64, %x46: i64, %x47: i64, %x48: i64, %x49: i64, %x50: i64, %x51: i64,
    %x52: i64, %x53: i64, %x54: i64, %x55: i64, %x56: i64, %x57: i64, %x58: i64, %x59: i64, %x60:
    i64, %x61: i64, %x62: i64, %x63: i64, %x64: i64, %x65: i64, %x66: i64, %x67: i64, %x68: i64,
    %x69: i64, %x70: i64, %x71: i64, %x72: i64, %x73: i64, %x74: i64, %x75: i64, %x76: i64, %x77:
    i64, %x78: i64, %x79: i64
) -> i64 {
  %v0:2 = call @part(%x0, %limit) : (i64, i64) -> (i64, i64)
  %v1:2 = call @part(%x1, %limit) : (i64, i64) -> (i64, i64)
  %v2:2 = call @part(%x2, %limit) : (i64, i64) -> (i64, i64)
  %v3:2 = call @part(%x3, %limit) : (i64, i64) -> (i64, i64)
  %v4:2 = call @part(%x4, %limit) : (i64, i64) -> (i64, i64)
  %v5:2 = call @part(%x5, %limit) : (i64, i64) -> (i64, i64)
  %v6:2 = call @part(%x6, %limit) : (i64, i64) -> (i64, i64)
  %v7:2 = call @part(%x7, %limit) : (i64, i64) -> (i64, i64)
  %v8:2 = call @part(%x8, %limit) : (i64, i64) -> (i64, i64)
  %v9:2 = call @part(%x9, %limit) : (i64, i64) -> (i64, i64)
  %v10:2 = call @part(%x10, %limit) : (i64, i64) -> (i64, i64)
  %v11:2 = call @part(%x11, %limit) : (i64, i64) -> (i64, i64)
  %v12:2 = call @part(%x12, %limit) : (i64, i64) -> (i64, i64)
  %v13:2 = call @part(%x13, %limit) : (i64, i64) -> (i64, i64)
  %v14:2 = call @part(%x14, %limit) : (i64, i64) -> (i64, i64)
  %v15:2 = call @part(%x15, %limit) : (i64, i64) -> (i64, i64)
  %v16:2 = call @part(%x16, %limit) : (i64, i64) -> (i64, i64)
  %v17:2 = call @part(%x17, %limit) : (i64, i64) -> (i64, i64)
  %v18:2 = call @part(%x18, %limit) : (i64, i64) -> (i64, i64)
  %v19:2 = call @part(%x19, %limit) : (i64, i64) -> (i64, i64)
  %v20:2 = call @part(%x20, %limit) : (i64, i64) -> (i64, i64)
  %v21:2 = call @part(%x21, %limit) : (i64, i64) -> (i64, i64)
  %v22:2 = call @part(%x22, %limit) : (i64, i64) -> (i64, i64)
  %v23:2 = call @part(%x23, %limit) : (i64, i64) -> (i64, i64)
  %v24:2 = call @part(%x24, %limit) : (i64, i64) -> (i64, i64)
  %v25:2 = call @part(%x25, %limit) : (i64, i64) -> (i64, i64)
  %v26:2 = call @part(%x26, %limit) : (i64, i64) -> (i64, i64)
  %v27:2 = call @part(%x27, %limit) : (i64, i64) -> (i64, i64)
  %v28:2 = call @part(%x28, %limit) : (i64, i64) -> (i64, i64)
  %v29:2 = call @part(%x29, %limit) : (i64, i64) -> (i64, i64)
  %v30:2 = call @part(%x30, %limit) : (i64, i64) -> (i64, i64)
  %v31:2 = call @part(%x31, %limit) : (i64, i64) -> (i64, i64)
  %v32:2 = call @part(%x32, %limit) : (i64, i64) -> (i64, i64)
  %v33:2 = call @part(%x33, %limit) : (i64, i64) -> (i64, i64)
  %v34:2 = call @part(%x34, %limit) : (i64, i64) -> (i64, i64)
  %v35:2 = call @part(%x35, %limit) : (i64, i64) -> (i64, i64)
  %v36:2 = call @part(%x36, %limit) : (i64, i64) -> (i64, i64)
  %v37:2 = call @part(%x37, %limit) : (i64, i64) -> (i64, i64)
  %v38:2 = call @part(%x38, %limit) : (i64, i64) -> (i64, i64)
  %v39:2 = call @part(%x39, %limit) : (i64, i64) -> (i64, i64)
  %v40:2 = call @part(%x40, %limit) : (i64, i64) -> (i64, i64)
  %v41:2 = call @part(%x41, %limit) : (i64, i64) -> (i64, i64)
  %v42:2 = call @part(%x42, %limit) : (i64, i64) -> (i64, i64)
  %v43:2 = call @part(%x43, %limit) : (i64, i64) -> (i64, i64)
  %v44:2 = call @part(%x44, %limit) : (i64, i64) -> (i64, i64)
  %v45:2 = call @part(%x45, %limit) : (i64, i64) -> (i64, i64)
  %v46:2 = call @part(%x46, %limit) : (i64, i64) -> (i64, i64)
  %v47:2 = call @part(%x47, %limit) : (i64, i64) -> (i64, i64)
  %v48:2 = call @part(%x48, %limit) : (i64, i64) -> (i64, i64)
  %v49:2 = call @part(%x49, %limit) : (i64, i64) -> (i64, i64)
  %v50:2 = call @part(%x50, %limit) : (i64, i64) -> (i64, i64)
  %v51:2 = call @part(%x51, %limit) : (i64, i64) -> (i64, i64)
  %v52:2 = call @part(%x52, %limit) : (i64, i64) -> (i64, i64)
  %v53:2 = call @part(%x53, %limit) : (i64, i64) -> (i64, i64)
  %v54:2 = call @part(%x54, %limit) : (i64, i64) -> (i64, i64)
  %v55:2 = call @part(%x55, %limit) : (i64, i64) -> (i64, i64)
  %v56:2 = call @part(%x56, %limit) : (i64, i64) -> (i64, i64)
  %v57:2 = call @part(%x57, %limit) : (i64, i64) -> (i64, i64)
  %v58:2 = call @part(%x58, %limit) : (i64, i64) -> (i64, i64)
  %v59:2 = call @part(%x59, %limit) : (i64, i64) -> (i64, i64)
  %v60:2 = call @part(%x60, %limit) : (i64, i64) -> (i64, i64)
  %v61:2 = call @part(%x61, %limit) : (i64, i64) -> (i64, i64)
  %v62:2 = call @part(%x62, %limit) : (i64, i64) -> (i64, i64)
  %v63:2 = call @part(%x63, %limit) : (i64, i64) -> (i64, i64)
  %v64:2 = call @part(%x64, %limit) : (i64, i64) -> (i64, i64)
  %v65:2 = call @part(%x65, %limit) : (i64, i64) -> (i64, i64)
  %v66:2 = call @part(%x66, %limit) : (i64, i64) -> (i64, i64)
  %v67:2 = call @part(%x67, %limit) : (i64, i64) -> (i64, i64)
  %v68:2 = call @part(%x68, %limit) : (i64, i64) -> (i64, i64)
  %v69:2 = call @part(%x69, %limit) : (i64, i64) -> (i64, i64)
  %v70:2 = call @part(%x70, %limit) : (i64, i64) -> (i64, i64)
  %v71:2 = call @part(%x71, %limit) : (i64, i64) -> (i64, i64)
  %v72:2 = call @part(%x72, %limit) : (i64, i64) -> (i64, i64)
  %v73:2 = call @part(%x73, %limit) : (i64, i64) -> (i64, i64)
  %v74:2 = call @part(%x74, %limit) : (i64, i64) -> (i64, i64)
  %v75:2 = call @part(%x75, %limit) : (i64, i64) -> (i64, i64)
  %v76:2 = call @part(%x76, %limit) : (i64, i64) -> (i64, i64)
  %v77:2 = call @part(%x77, %limit) : (i64, i64) -> (i64, i64)
  %v78:2 = call @part(%x78, %limit) : (i64, i64) -> (i64, i64)
  %v79:2 = call @part(%x79, %limit) : (i64, i64) -> (i64, i64)
  %s0 = arith.xori %limit, %v0#0 : i64
  %t0 = arith.muli %s0, %v0#1 : i64
  %s1 = arith.xori %t0, %v1#0 : i64
  %t1 = arith.muli %s1, %v1#1 : i64
  %s2 = arith.xori %t1, %v2#0 : i64
  %t2 = arith.muli %s2, %v2#1 : i64
  %s3 = arith.xori %t2, %v3#0 : i64
  %t3 = arith.muli %s3, %v3#1 : i64
  %s4 = arith.xori %t3, %v4#0 : i64
  %t4 = arith.muli %s4, %v4#1 : i64
  %s5 = arith.xori %t4, %v5#0 : i64
  %t5 = arith.muli %s5, %v5#1 : i64
  %s6 = arith.xori %t5, %v6#0 : i64
  %t6 = arith.muli %s6, %v6#1 : i64
  %s7 = arith.xori %t6, %v7#0 : i64
  %t7 = arith.muli %s7, %v7#1 : i64
  %s8 = arith.xori %t7, %v8#0 : i64
  %t8 = arith.muli %s8, %v8#1 : i64
  %s9 = arith.xori %t8, %v9#0 : i64
  %t9 = arith.muli %s9, %v9#1 : i64
  %s10 = arith.xori %t9, %v10#0 : i64
  %t10 = arith.muli %s10, %v10#1 : i64
  %s11 = arith.xori %t10, %v11#0 : i64
  %t11 = arith.muli %s11, %v11#1 : i64
  %s12 = arith.xori %t11, %v12#0 : i64
  %t12 = arith.muli %s12, %v12#1 : i64
  %s13 = arith.xori %t12, %v13#0 : i64
  %t13 = arith.muli %s13, %v13#1 : i64
  %s14 = arith.xori %t13, %v14#0 : i64
  %t14 = arith.muli %s14, %v14#1 : i64
  %s15 = arith.xori %t14, %v15#0 : i64
  %t15 = arith.muli %s15, %v15#1 : i64
  %s16 = arith.xori %t15, %v16#0 : i64
  %t16 = arith.muli %s16, %v16#1 : i64
  %s17 = arith.xori %t16, %v17#0 : i64
  %t17 = arith.muli %s17, %v17#1 : i64
  %s18 = arith.xori %t17, %v18#0 : i64
  %t18 = arith.muli %s18, %v18#1 : i64
  %s19 = arith.xori %t18, %v19#0 : i64
  %t19 = arith.muli %s19, %v19#1 : i64
  %s20 = arith.xori %t19, %v20#0 : i64
  %t20 = arith.muli %s20, %v20#1 : i64
  %s21 = arith.xori %t20, %v21#0 : i64
  %t21 = arith.muli %s21, %v21#1 : i64
  %s22 = arith.xori %t21, %v22#0 : i64
  %t22 = arith.muli %s22, %v22#1 : i64
  %s23 = arith.xori %t22, %v23#0 : i64
  %t23 = arith.muli %s23, %v23#1 : i64
  %s24 = arith.xori %t23, %v24#0 : i64
  %t24 = arith.muli %s24, %v24#1 : i64
  %s25 = arith.xori %t24, %v25#0 : i64
  %t25 = arith.muli %s25, %v25#1 : i64
  %s26 = arith.xori %t25, %v26#0 : i64
  %t26 = arith.muli %s26, %v26#1 : i64
  %s27 = arith.xori %t26, %v27#0 : i64
  %t27 = arith.muli %s27, %v27#1 : i64
  %s28 = arith.xori %t27, %v28#0 : i64
  %t28 = arith.muli %s28, %v28#1 : i64
  %s29 = arith.xori %t28, %v29#0 : i64
  %t29 = arith.muli %s29, %v29#1 : i64
  %s30 = arith.xori %t29, %v30#0 : i64
  %t30 = arith.muli %s30, %v30#1 : i64
  %s31 = arith.xori %t30, %v31#0 : i64
  %t31 = arith.muli %s31, %v31#1 : i64
  %s32 = arith.xori %t31, %v32#0 : i64
  %t32 = arith.muli %s32, %v32#1 : i64
  %s33 = arith.xori %t32, %v33#0 : i64
  %t33 = arith.muli %s33, %v33#1 : i64
  %s34 = arith.xori %t33, %v34#0 : i64
  %t34 = arith.muli %s34, %v34#1 : i64
  %s35 = arith.xori %t34, %v35#0 : i64
  %t35 = arith.muli %s35, %v35#1 : i64
  %s36 = arith.xori %t35, %v36#0 : i64
  %t36 = arith.muli %s36, %v36#1 : i64
  %s37 = arith.xori %t36, %v37#0 : i64
  %t37 = arith.muli %s37, %v37#1 : i64
  %s38 = arith.xori %t37, %v38#0 : i64
  %t38 = arith.muli %s38, %v38#1 : i64
  %s39 = arith.xori %t38, %v39#0 : i64
  %t39 = arith.muli %s39, %v39#1 : i64
  %s40 = arith.xori %t39, %v40#0 : i64
  %t40 = arith.muli %s40, %v40#1 : i64
  %s41 = arith.xori %t40, %v41#0 : i64
  %t41 = arith.muli %s41, %v41#1 : i64
  %s42 = arith.xori %t41, %v42#0 : i64
  %t42 = arith.muli %s42, %v42#1 : i64
  %s43 = arith.xori %t42, %v43#0 : i64
  %t43 = arith.muli %s43, %v43#1 : i64
  %s44 = arith.xori %t43, %v44#0 : i64
  %t44 = arith.muli %s44, %v44#1 : i64
  %s45 = arith.xori %t44, %v45#0 : i64
  %t45 = arith.muli %s45, %v45#1 : i64
  %s46 = arith.xori %t45, %v46#0 : i64
  %t46 = arith.muli %s46, %v46#1 : i64
  %s47 = arith.xori %t46, %v47#0 : i64
  %t47 = arith.muli %s47, %v47#1 : i64
  %s48 = arith.xori %t47, %v48#0 : i64
  %t48 = arith.muli %s48, %v48#1 : i64
  %s49 = arith.xori %t48, %v49#0 : i64
  %t49 = arith.muli %s49, %v49#1 : i64
  %s50 = arith.xori %t49, %v50#0 : i64
  %t50 = arith.muli %s50, %v50#1 : i64
  %s51 = arith.xori %t50, %v51#0 : i64
  %t51 = arith.muli %s51, %v51#1 : i64
  %s52 = arith.xori %t51, %v52#0 : i64
  %t52 = arith.muli %s52, %v52#1 : i64
  %s53 = arith.xori %t52, %v53#0 : i64
  %t53 = arith.muli %s53, %v53#1 : i64
  %s54 = arith.xori %t53, %v54#0 : i64
  %t54 = arith.muli %s54, %v54#1 : i64
  %s55 = arith.xori %t54, %v55#0 : i64
  %t55 = arith.muli %s55, %v55#1 : i64
  %s56 = arith.xori %t55, %v56#0 : i64
  %t56 = arith.muli %s56, %v56#1 : i64
  %s57 = arith.xori %t56, %v57#0 : i64
  %t57 = arith.muli %s57, %v57#1 : i64
  %s58 = arith.xori %t57, %v58#0 : i64
  %t58 = arith.muli %s58, %v58#1 : i64
  %s59 = arith.xori %t58, %v59#0 : i64
  %t59 = arith.muli %s59, %v59#1 : i64
  %s60 = arith.xori %t59, %v60#0 : i64
  %t60 = arith.muli %s60, %v60#1 : i64
  %s61 = arith.xori %t60, %v61#0 : i64
  %t61 = arith.muli %s61, %v61#1 : i64
  %s62 = arith.xori %t61, %v62#0 : i64
  %t62 = arith.muli %s62, %v62#1 : i64
  %s63 = arith.xori %t62, %v63#0 : i64
  %t63 = arith.muli %s63, %v63#1 : i64
  %s64 = arith.xori %t63, %v64#0 : i64
  %t64 = arith.muli %s64, %v64#1 : i64
  %s65 = arith.xori %t64, %v65#0 : i64
  %t65 = arith.muli %s65, %v65#1 : i64
  %s66 = arith.xori %t65, %v66#0 : i64
  %t66 = arith.muli %s66, %v66#1 : i64
  %s67 = arith.xori %t66, %v67#0 : i64
  %t67 = arith.muli %s67, %v67#1 : i64
  %s68 = arith.xori %t67, %v68#0 : i64
  %t68 = arith.muli %s68, %v68#1 : i64
  %s69 = arith.xori %t68, %v69#0 : i64
  %t69 = arith.muli %s69, %v69#1 : i64
  %s70 = arith.xori %t69, %v70#0 : i64
  %t70 = arith.muli %s70, %v70#1 : i64
  %s71 = arith.xori %t70, %v71#0 : i64
  %t71 = arith.muli %s71, %v71#1 : i64
  %s72 = arith.xori %t71, %v72#0 : i64
  %t72 = arith.muli %s72, %v72#1 : i64
  %s73 = arith.xori %t72, %v73#0 : i64
  %t73 = arith.muli %s73, %v73#1 : i64
  %s74 = arith.xori %t73, %v74#0 : i64
  %t74 = arith.muli %s74, %v74#1 : i64
  %s75 = arith.xori %t74, %v75#0 : i64
  %t75 = arith.muli %s75, %v75#1 : i64
  %s76 = arith.xori %t75, %v76#0 : i64
  %t76 = arith.muli %s76, %v76#1 : i64
  %s77 = arith.xori %t76, %v77#0 : i64
  %t77 = arith.muli %s77, %v77#1 : i64
  %s78 = arith.xori %t77, %v78#0 : i64
  %t78 = arith.muli %s78, %v78#1 : i64
  %s79 = arith.xori %t78, %v79#0 : i64
  %t79 = arith.muli %s79, %v79#1 : i64
  return %t79 : i64
}

func.func private @part(%x: i64, %limit: i64) -> (i64, i64) {
  %square = arith.muli %x, %x : i64
  %c0 = arith.constant 0 : i64
  %ok0 = arith.cmpi sgt, %x, %c0 : i64
  cf.assert %ok0, "number 0 is too small"
  %c1 = arith.constant 1 : i64
  %ok1 = arith.cmpi sgt, %x, %c1 : i64
  cf.assert %ok1, "number 1 is too small"
  %c2 = arith.constant 2 : i64
  %ok2 = arith.cmpi sgt, %x, %c2 : i64
  cf.assert %ok2, "number 2 is too small"
  %c3 = arith.constant 3 : i64
  %ok3 = arith.cmpi sgt, %x, %c3 : i64
  cf.assert %ok3, "number 3 is too small"
  %c4 = arith.constant 4 : i64
  %ok4 = arith.cmpi sgt, %x, %c4 : i64
  cf.assert %ok4, "number 4 is too small"
  %c5 = arith.constant 5 : i64
  %ok5 = arith.cmpi sgt, %x, %c5 : i64
  cf.assert %ok5, "number 5 is too small"
  %c6 = arith.constant 6 : i64
  %ok6 = arith.cmpi sgt, %x, %c6 : i64
  cf.assert %ok6, "number 6 is too small"
  %c7 = arith.constant 7 : i64
  %ok7 = arith.cmpi sgt, %x, %c7 : i64
  cf.assert %ok7, "number 7 is too small"
  %c8 = arith.constant 8 : i64
  %ok8 = arith.cmpi sgt, %x, %c8 : i64
  cf.assert %ok8, "number 8 is too small"
  %c9 = arith.constant 9 : i64
  %ok9 = arith.cmpi sgt, %x, %c9 : i64
  cf.assert %ok9, "number 9 is too small"
  %c10 = arith.constant 10 : i64
  %ok10 = arith.cmpi sgt, %x, %c10 : i64
  cf.assert %ok10, "number 10 is too small"
  %c11 = arith.constant 11 : i64
  %ok11 = arith.cmpi sgt, %x, %c11 : i64
  cf.assert %ok11, "number 11 is too small"
  %c12 = arith.constant 12 : i64
  %ok12 = arith.cmpi sgt, %x, %c12 : i64
  cf.assert %ok12, "number 12 is too small"
  %c13 = arith.constant 13 : i64
  %ok13 = arith.cmpi sgt, %x, %c13 : i64
  cf.assert %ok13, "number 13 is too small"
  %c14 = arith.constant 14 : i64
  %ok14 = arith.cmpi sgt, %x, %c14 : i64
  cf.assert %ok14, "number 14 is too small"
  %c15 = arith.constant 15 : i64
  %ok15 = arith.cmpi sgt, %x, %c15 : i64
  cf.assert %ok15, "number 15 is too small"
  %c16 = arith.constant 16 : i64
  %ok16 = arith.cmpi sgt, %x, %c16 : i64
  cf.assert %ok16, "number 16 is too small"
  %c17 = arith.constant 17 : i64
  %ok17 = arith.cmpi sgt, %x, %c17 : i64
  cf.assert %ok17, "number 17 is too small"
  %c18 = arith.constant 18 : i64
  %ok18 = arith.cmpi sgt, %x, %c18 : i64
  cf.assert %ok18, "number 18 is too small"
  %c19 = arith.constant 19 : i64
  %ok19 = arith.cmpi sgt, %x, %c19 : i64
  cf.assert %ok19, "number 19 is too small"
  %sum = arith.addi %square, %limit : i64
  return %square, %sum : i64, i64
}
